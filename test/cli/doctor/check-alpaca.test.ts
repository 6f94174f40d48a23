import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createSocketServer } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { checkAlpaca } from '../../../src/cli/doctor/check-alpaca.ts';
import { loadConfig } from '../../../src/config/load-config.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { Proxies } from '../../../src/runtime/proxies.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { wsSocketFactory } from '../../../src/service/sources/ws-socket.ts';
import { UndiciHttp } from '../../../src/venue/platform/undici-http.ts';
import { alpacaClient } from '../../support/platform/alpaca.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { json, scriptedServer } from '../../support/servers/http-server.ts';

async function found(env: Readonly<Record<string, string>>, options: { readonly totalMs?: number } = {}) {
  const loaded = loadConfig({ VENUES: 'alpaca', ...env }, () => '');
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.faults));
  const http = new UndiciHttp({ clock: systemClock, proxies: new Proxies() }, options);
  onTestFinished(() => http.close());
  const deps = { clock: systemClock, random: seededRandom(1), log: silentLog, http };
  return checkAlpaca(loaded.config, { ...deps, openSocket: wsSocketFactory(systemClock) });
}

async function findings(env: Readonly<Record<string, string>>) {
  return (await found(env)).map(({ verdict, part, detail, fix }) => [verdict, part, fix ?? detail]);
}

const keys = { ALPACA_KEY_ID: 'PKTEST', ALPACA_SECRET_KEY: 'sandbox-secret' };
const account = { account_number: 'PA123', status: 'ACTIVE' };
const page = '<html><title>Blocked by policy</title></html>';

/** Its first finding, of a server that answers every request so. */
async function foundOf(answer: (response: ServerResponse) => void, env: Readonly<Record<string, string>> = {}) {
  const server = await scriptedServer((_request, response) => answer(response));
  onTestFinished(() => server.close());
  const [finding] = await found({ ALPACA_URL: server.url, ...keys, ...env });
  return finding;
}

const html = (status: number) => (response: ServerResponse) =>
  response.writeHead(status, { 'content-type': 'text/html', location: 'https://proxy.example/' }).end(page);

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

describe('issue: Doctor says of each fault at Alpaca that its address has to be checked.', () => {
  it.each([
    [
      'a wrong key, answered with 401',
      (response) => json(response, 401, { message: 'unauthorized.' }),
      /refuses the key pair/,
      /^Make a key pair in the paper environment, or correct ALPACA_ENVIRONMENT/,
    ],
    [
      'a wrong key, answered with 403',
      (response) => json(response, 403, { message: 'forbidden.' }),
      /: forbidden\.$/,
      /^Make a key pair in the paper environment/,
    ],
    [
      'too many requests',
      (response) => json(response, 429, { message: 'too many requests.' }),
      /: too many requests\.$/,
      /^Run it again in a minute: all programs with keys of this account share/,
    ],
    [
      'too many requests, with a time',
      (response) => json(response, 429, { message: 'too many requests.' }, { 'retry-after': '30' }),
      /: too many requests\.$/,
      /^Run it again in 30 s:/,
    ],
    [
      'a fault of Alpaca',
      (response) => json(response, 500, { code: 50010000, message: 'internal server error occurred' }),
      /: internal server error occurred$/,
      /^Run it again in a minute: Alpaca has a fault/,
    ],
    [
      'an answer that breaks off',
      (response) => {
        response.writeHead(200, { 'content-length': '500' }).write('{"account_num');
        response.socket?.end();
      },
      /: the connection ended before the whole answer/,
      /^Check ALPACA_URL, and that this machine may reach it/,
    ],
    [
      'an answer that breaks off with its end',
      (response) => response.end('{"account_num'),
      /: the answer is not JSON$/,
      /^Check ALPACA_URL, HTTPS_PROXY and NO_PROXY: another server may answer/,
    ],
    ['a page with 200', html(200), /: the answer is not JSON$/, /another server may answer/],
    ['a page with 302', html(302), /: the answer has status 302, and no message of Alpaca$/, /another server/],
    ['a page with 403', html(403), /: the answer has status 403, and no message of Alpaca$/, /another server/],
    ['a page with 407', html(407), /: the answer has status 407, and no message of Alpaca$/, /another server/],
    ['a page with 502', html(502), /: the answer has status 502, and no message of Alpaca$/, /^Run it again in a min/],
    [
      'another API',
      (response) => json(response, 200, { id: 7 }),
      /another shape than the documents say$/,
      /another server may answer/,
    ],
  ] satisfies readonly [string, (response: ServerResponse) => void, RegExp, RegExp][])(
    '%s',
    async (_what, answer, detail, fix) => {
      const finding = await foundOf(answer);
      expect(finding).toMatchObject({ verdict: 'fail', part: 'alpaca' });
      expect([finding?.detail, finding?.fix]).toEqual([expect.stringMatching(detail), expect.stringMatching(fix)]);
      expect(JSON.stringify(finding)).not.toContain('sandbox-secret');
    },
  );

  it('a key of paper at the address of live is a key of the other environment', async () => {
    const finding = await foundOf((response) => json(response, 401, { message: 'unauthorized.' }), {
      ALPACA_ENVIRONMENT: 'live',
    });
    expect(finding?.fix).toMatch(/^Make a key pair in the live environment, or correct ALPACA_ENVIRONMENT/);
  });

  it('a host that never answers', async () => {
    const server = createSocketServer(() => {}).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await new Promise((resolve) => server.once('listening', resolve));
    const [finding] = await found(
      {
        ALPACA_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
        ...keys,
      },
      { totalMs: 200 },
    );
    expect(finding?.detail).toMatch(/: no whole answer within 200 ms$/);
    expect(finding?.fix).toMatch(/^Check ALPACA_URL, and that this machine may reach it/);
  });

  it.each([
    ['that is blocked', { ...account, trading_blocked: true }, 'the paper account PA123 is ACTIVE, and'],
    ['that is closed', { ...account, status: 'ACCOUNT_CLOSED' }, 'the paper account PA123 is ACCOUNT_CLOSED, and'],
  ])('an account %s is a warning', async (_what, body, shown) => {
    const finding = await foundOf((response) => json(response, 200, body));
    expect(finding).toMatchObject({ verdict: 'warn', detail: expect.stringContaining(shown) });
  });

  it.each([
    [200, /^Run it again in a minute\. If it stays, check ALPACA_URL, and that a proxy on the way lets WebSockets/],
    [401, /^Check ALPACA_URL: the key pair is good, so the stream may be of the other environment/],
    [429, /^Run it again in a minute/],
    [502, /^Run it again in a minute/],
  ])('a stream whose upgrade is answered with %d', async (status, fix) => {
    const server = createServer((_request, response) => json(response, 200, account));
    server.on('upgrade', (_request, socket) => socket.end(`HTTP/1.1 ${status} no\r\ncontent-length: 0\r\n\r\n`));
    server.listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await new Promise((resolve) => server.once('listening', resolve));
    const said = await found({ ALPACA_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, ...keys });
    expect(said.at(-1)).toMatchObject({ verdict: 'fail', part: 'alpaca stream', fix: expect.stringMatching(fix) });
  });
});
