import { describe, expect, it, onTestFinished } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import { MemoryTokenStore } from '../../../src/runtime/token-store.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { beginAuthorization, readCallback } from '../../../src/venue/platform/authorization.ts';
import { exchangeToken } from '../../../src/venue/platform/exchange-token.ts';
import { RefreshingTokenSource } from '../../../src/venue/platform/token-source.ts';
import { UndiciHttp } from '../../../src/venue/platform/undici-http.ts';
import { browse, stockClient, stockServer } from '../../support/platform/stock-server.ts';
import { silentLog } from '../../support/runs/silent-log.ts';

function deps() {
  const http = new UndiciHttp({ clock: systemClock });
  onTestFinished(() => http.close());
  return { http, clock: systemClock };
}

describe('our client against oidc-provider, which nobody here wrote', () => {
  it.each(['confidential', 'public'] as const)('completes code, PKCE, MFA and refresh as a %s client', async (kind) => {
    const { url } = await stockServer(kind);
    const client = {
      clientId: stockClient.id,
      ...(kind === 'confidential' && { clientSecret: new Secret(stockClient.secret) }),
      scope: 'order:information',
    };
    const options = { authUrl: url, platformUrl: url, redirectUri: stockClient.redirectUri, ...client };
    const authorization = await beginAuthorization(options);
    const callback = await browse(authorization.url);
    const read = readCallback(options, authorization, callback.searchParams);
    if (!read.ok) throw new Error(JSON.stringify(read.error));
    const login = await exchangeToken(deps(), url, client, read.grant);
    if (!login.ok) throw new Error(JSON.stringify(login.error));
    expect(login.token.scope).toBe('order:information');
    const first = login.token.refreshToken?.reveal() ?? '';
    const store = new MemoryTokenStore({ clock: systemClock });
    await store.save('login:erin', 0, login.token);
    const tokens = new RefreshingTokenSource(
      { ...deps(), store, random: seededRandom(1), log: silentLog, metrics: createMetrics().platform },
      { name: 'login:erin', holder: 'test', baseUrl: url, credential: client, grant: 'refresh' },
    );
    const held = await tokens.get(url);
    if (!held.ok) throw new Error(JSON.stringify(held.error));
    const renewed = await tokens.renew(held.token.generation, url);
    expect(renewed).toMatchObject({ ok: true });
    const second = (await store.load('login:erin'))?.refreshToken?.reveal();
    expect(second).not.toBe(first);
    // The stock server, too, takes an old token that comes again for a theft, and ends the login.
    const thief = await exchangeToken(deps(), url, client, { kind: 'refresh', refreshToken: new Secret(first) });
    expect(thief).toMatchObject({ ok: false, refused: true });
    const over = renewed.ok ? await tokens.renew(renewed.token.generation, url) : renewed;
    expect(over).toMatchObject({ ok: false, error: { code: 'LOGIN_REQUIRED' } });
  });
});
