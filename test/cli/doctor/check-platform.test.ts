import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { checkSignInScreen } from '../../../src/cli/doctor/check-callers.ts';
import { checkPlatform } from '../../../src/cli/doctor/check-platform.ts';
import { loadConfig } from '../../../src/config/load-config.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { UndiciHttp } from '../../../src/venue/platform/undici-http.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { json, type ScriptedServer, scriptedServer } from '../../support/servers/http-server.ts';

let server: ScriptedServer;
afterEach(() => server.close());

type Answer = (response: ServerResponse) => void;

const account = { trading_account_id: 'ACC-1', status: 'OPEN', is_sim: true };
const healthy: Readonly<Record<string, Answer>> = {
  '/v1/health': (response) => json(response, 200, { status: 'ok' }),
  '/v1/oauth2/token': (response) =>
    json(response, 200, { access_token: 'jwt', token_type: 'Bearer', expires_in: 3600 }),
  '/v2/users/me/accounts': (response) => json(response, 200, { accounts: [account] }),
  '/v1/orders': (response) => json(response, 200, { orders: [] }),
  '/v1/predictions/orders': (response) => json(response, 200, { success: true, data: { orders: [] } }),
};

/** Each part's verdict and sentence, on a platform that answers as it should except where told. */
async function examine(over: Readonly<Record<string, Answer>> = {}, settings: Record<string, string> = {}) {
  server = await scriptedServer((request, response) => {
    const path = request.path.split('?')[0] ?? '';
    (over[path] ?? healthy[path] ?? ((other: ServerResponse) => json(other, 404, { error: 'NOT_FOUND' })))(response);
  });
  const env = {
    PLATFORM_URL: server.url,
    PLATFORM_STAGING_URL: server.url,
    PLATFORM_CLIENT_ID: 'id',
    PLATFORM_CLIENT_SECRET: 'c4n4ry',
    ...settings,
  };
  const loaded = loadConfig(env, () => '');
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.faults));
  const http = new UndiciHttp({ clock: systemClock });
  const { findings, accessToken } = await checkPlatform(loaded.config, {
    ...{ http, clock: systemClock, random: seededRandom(1), log: silentLog },
  });
  await http.close();
  expect(JSON.stringify(findings)).not.toContain('c4n4ry');
  return { accessToken, byPart: Object.fromEntries(findings.map(({ part, ...finding }) => [part, finding])) };
}

const html: Answer = (response) => {
  response.end('<html>');
};

const status =
  (code: number, body: unknown = {}): Answer =>
  (response) =>
    json(response, code, body);

describe('the doctor on the platform', () => {
  it('finds nothing wrong, and hands the token on', async () => {
    const { byPart, accessToken } = await examine();
    expect(byPart).toEqual({
      clock: { verdict: 'ok', detail: 'agrees with the platform' },
      'sign-in': { verdict: 'ok', detail: 'the platform gives tokens that last 60 min' },
      accounts: { verdict: 'ok', detail: '1 of 1 are followed' },
      orders: { verdict: 'ok', detail: 'the list can be read' },
      predictions: { verdict: 'ok', detail: 'the list can be read' },
    });
    expect(accessToken?.reveal()).toBe('jwt');
  });

  it.each([
    ['an hour ahead', 3_600_000, 'fail', /^3599\.\d s behind|^360\d\.\d s behind/],
    ['an hour behind', -3_600_000, 'fail', /ahead of the platform$/],
    ['ten seconds ahead', 10_000, 'warn', /behind the platform$/],
  ])('tells how far the clock is off when the platform is %s', async (_what, offsetMs, verdict, detail) => {
    const date = new Date(Date.now() + offsetMs).toUTCString();
    const { byPart } = await examine({ '/v1/health': (response) => json(response, 200, {}, { date }) });
    expect(byPart['clock']).toMatchObject({ verdict, detail: expect.stringMatching(detail) });
  });

  it('tells a refused secret from a platform that fails', async () => {
    const refused = await examine({ '/v1/oauth2/token': status(401, { error: 'invalid_client' }) });
    expect(refused.byPart['sign-in']).toMatchObject({
      verdict: 'fail',
      fix: expect.stringContaining('PLATFORM_CLIENT_SECRET'),
    });
    expect(refused.accessToken).toBeUndefined();
    await server.close();
    const failing = await examine({ '/v1/oauth2/token': status(503) });
    expect(failing.byPart['sign-in']).toMatchObject({ verdict: 'fail', fix: expect.stringContaining('PLATFORM_URL') });
  });

  it.each([
    ['is not allowed', status(403), /answered with 403/, /account:information/],
    ['is HTML', html, /another shape/, /PLATFORM_URL/],
    ['is empty', status(200, { accounts: [] }), /sees no account/, /Link an account/],
  ] as const)('fails when the list of accounts %s', async (_what, answer, detail, fix) => {
    const { byPart } = await examine({ '/v2/users/me/accounts': answer });
    expect(byPart['accounts']).toMatchObject({
      verdict: 'fail',
      detail: expect.stringMatching(detail),
      fix: expect.stringMatching(fix),
    });
  });

  it('says on which of the followed accounts nothing can be placed, and reads the orders of another', async () => {
    const accounts = [
      { trading_account_id: 'ACC-0', status: 'RESTRICTED' },
      account,
      { trading_account_id: 'ACC-2' },
      { status: 'OPEN' },
    ];
    const { byPart } = await examine({ '/v2/users/me/accounts': status(200, { accounts }) });
    expect(byPart['accounts']).toEqual({
      verdict: 'warn',
      detail:
        "3 of 3 are followed; on 2 of them nothing can be placed, only cancelled: ACC-0 is RESTRICTED, ACC-2 is without a status; 1 item of the list without an id can't be followed",
      fix: expect.stringContaining('PLATFORM_ACCOUNTS'),
    });
    expect(server.received.some(({ path }) => path.startsWith('/v1/orders?accountId=ACC-1'))).toBe(true);
  });

  it('fails when PLATFORM_ACCOUNTS names one that the client does not see', async () => {
    const { byPart } = await examine({}, { PLATFORM_ACCOUNTS: 'ACC-1,ACC-7' });
    expect(byPart['accounts']).toMatchObject({
      verdict: 'fail',
      detail: '1 of PLATFORM_ACCOUNTS is not among the 1 that the client sees: ACC-7',
      fix: expect.stringContaining('It sees ACC-1.'),
    });
  });

  it('takes 403 for account orders as a missing scope, and for prediction orders as not enrolled', async () => {
    const { byPart } = await examine({ '/v1/orders': status(403), '/v1/predictions/orders': status(403) });
    expect(byPart['orders']).toMatchObject({ verdict: 'fail', fix: expect.stringContaining('order:information') });
    expect(byPart['predictions']).toMatchObject({ verdict: 'ok', detail: expect.stringContaining('not enrolled') });
  });

  it('leaves prediction orders out without a staging address', async () => {
    const { byPart } = await examine({}, { PLATFORM_STAGING_URL: '' });
    expect(Object.keys(byPart)).not.toContain('predictions');
  });

  // A finding is read alone, at the worst hour: the thing, the value
  // seen, and one next step that fits this value.
  it.each(
    ['/v1/oauth2/token', '/v2/users/me/accounts', '/v1/orders', '/v1/predictions/orders'].flatMap((path) =>
      [401, 403, 404, 429, 500, 503].map((code) => [path, code] as const),
    ),
  )('names the address, the answer and a step that fits where %s answers %i', async (path, code) => {
    const { byPart } = await examine({ [path]: status(code) });
    const wrong = Object.values(byPart).filter(({ verdict }) => verdict !== 'ok');
    // An account that is not enrolled for predictions is no fault.
    expect(wrong).toHaveLength(path.startsWith('/v1/predictions') && code === 403 ? 0 : 1);
    for (const { detail, fix = '' } of wrong) {
      if (path !== '/v1/oauth2/token' || code !== 401) expect(detail).toContain(`${server.url}${path}`);
      expect(`${detail} ${fix}`).toMatch(/PLATFORM_\w+|scope (account|order):information/);
      expect(fix).toMatch(/^[A-Z].*\.$/);
      if (code >= 404) expect(fix).not.toContain('scope');
    }
  });

  it('fails without settings, naming them', async () => {
    const { byPart } = await examine({}, { PLATFORM_CLIENT_ID: '' });
    expect(byPart).toEqual({
      'sign-in': { verdict: 'fail', detail: expect.any(String), fix: expect.stringContaining('PLATFORM_CLIENT_ID') },
    });
  });
});

it.each([
  [302, 'ok'],
  [400, 'ok'],
  [502, 'warn'],
])('a sign-in screen that answers %i is %s', async (code, verdict) => {
  server = await scriptedServer((_request, response) => json(response, code, {}));
  const http = new UndiciHttp({ clock: systemClock });
  expect((await checkSignInScreen(server.url, http)).verdict).toBe(verdict);
  await http.close();
});
