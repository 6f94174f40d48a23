import { describe, expect, it, onTestFinished } from 'vitest';
import { checkAlpaca } from '../../../src/cli/doctor/check-alpaca.ts';
import { loadConfig } from '../../../src/config/load-config.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { Proxies } from '../../../src/runtime/proxies.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { wsSocketFactory } from '../../../src/service/sources/ws-socket.ts';
import { UndiciHttp } from '../../../src/venue/platform/undici-http.ts';
import { alpacaClient } from '../../support/platform/alpaca.ts';

async function findings(env: Readonly<Record<string, string>>) {
  const loaded = loadConfig({ VENUES: 'alpaca', ...env }, () => '');
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.faults));
  const http = new UndiciHttp({ clock: systemClock, proxies: new Proxies() });
  onTestFinished(() => http.close());
  const deps = { clock: systemClock, random: seededRandom(1), http, openSocket: wsSocketFactory(systemClock) };
  const found = await checkAlpaca(loaded.config, deps);
  return found.map(({ verdict, part, detail, fix }) => [verdict, part, fix ?? detail]);
}

async function settings(requestsPerMinute = 200) {
  const { at } = await alpacaClient({ alpaca: { requestsPerMinute } });
  const { keyId = '', secretKey = '' } = at.accounts[0] ?? {};
  return { ALPACA_URL: at.url, ALPACA_STREAM_URL: at.stream, ALPACA_KEY_ID: keyId, ALPACA_SECRET_KEY: secretKey };
}

describe('doctor on Alpaca', () => {
  it('names the account, and signs in on the stream', async () => {
    expect(await findings(await settings())).toEqual([
      ['ok', 'alpaca', 'the paper account SIM-1001 is ACTIVE'],
      ['ok', 'alpaca stream', 'the sign-in succeeds'],
    ]);
  });

  it('says when audits alone would use up the requests', async () => {
    const hasty = { ...(await settings(50)), TIDEMARK_AUDIT_INTERVAL_MS: '4000' };
    expect(await findings(hasty)).toContainEqual(['warn', 'alpaca requests', 'Lengthen TIDEMARK_AUDIT_INTERVAL_MS.']);
  });

  it.each([
    ['no keys', { ALPACA_KEY_ID: undefined, ALPACA_SECRET_KEY: undefined }, 'Set ALPACA_KEY_ID and ALPACA_SECRET_KEY'],
    ['another secret', { ALPACA_SECRET_KEY: 'wrong' }, 'Make a key pair in the paper environment'],
    [
      'a key of the other environment',
      { ALPACA_ENVIRONMENT: 'live', ALPACA_SECRET_KEY: 'wrong' },
      'the live environment',
    ],
    ['no such address', { ALPACA_URL: 'http://127.0.0.1:1' }, 'Check ALPACA_URL'],
    ['another stream', { ALPACA_STREAM_URL: 'ws://127.0.0.1:1/stream' }, 'Check ALPACA_STREAM_URL'],
  ])('says what to do with %s', async (_what, over, fix) => {
    const given = Object.entries({ ...(await settings()), ...over }).filter(([, value]) => value !== undefined);
    const found = await findings(Object.fromEntries(given) as Record<string, string>);
    expect(found.at(-1)).toEqual(['fail', expect.stringMatching(/^alpaca/), expect.stringContaining(fix)]);
    expect(JSON.stringify(found)).not.toContain('sandbox-secret');
  });
});
