import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ZodError } from 'zod';
import { BreakItServer } from '../../src/demo/break-it/break-it-server.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { sandboxOptions } from '../../src/sandbox/sandbox-options.ts';
import { seededRandom } from '../../src/sandbox/seeded-random.ts';
import { startSandbox } from '../../src/sandbox/start-sandbox.ts';
import { ask, askToken, control, controlLines, runningSandbox, signedIn } from '../support/platform/sandbox.ts';
import { eventually } from '../support/runs/poll.ts';
import { silentLog } from '../support/runs/silent-log.ts';
import { sendRaw } from '../support/servers/raw-socket.ts';

const deps = { clock: systemClock, random: seededRandom(1), log: silentLog };
/** A temporary folder of this test's own: other tests start sandboxes at the same moment. */
function ownTemporaryFolder(): string {
  const usual = process.env['TMPDIR'];
  const own = mkdtempSync(join(tmpdir(), 'tidemark-own-'));
  process.env['TMPDIR'] = own;
  onTestFinished(() => {
    if (usual === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = usual;
    rmSync(own, { recursive: true });
  });
  return own;
}

describe('a sandbox', () => {
  it('describes itself as the contract shapes it', async () => {
    const { description: it } = await runningSandbox();
    expect(Object.keys(it)).toEqual([
      'platform',
      'staging',
      'auth',
      'stream',
      'stagingStream',
      'control',
      'clientId',
      'clientSecret',
      'publicClientId',
      'redirectUri',
      'apiKey',
      'users',
      'predictionSymbols',
      'settings',
    ]);
    for (const base of [it.platform, it.staging, it.auth, it.control])
      expect(base).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    for (const stream of [it.stream, it.stagingStream]) expect(stream).toMatch(/^ws:\/\/127\.0\.0\.1:\d+\/v1\/stream$/);
    const accounts = it.users.flatMap((user) => user.accounts);
    expect(accounts.some((account) => account.predictions) && accounts.some((account) => !account.predictions)).toBe(
      true,
    );
    expect(it.users.some((user) => user.mfa === null) && it.users.some((user) => /^\d{6}$/.test(user.mfa ?? ''))).toBe(
      true,
    );
    expect(it.predictionSymbols.length).toBeGreaterThan(0);
  });

  it('leaves no file behind when it stops, and may be stopped twice', async () => {
    const own = ownTemporaryFolder();
    const sandbox = await startSandbox({}, deps);
    expect(readdirSync(own)).toHaveLength(1);
    await Promise.all([sandbox.stop(), sandbox.stop()]);
    expect(readdirSync(own)).toEqual([]);
  });

  it('does not start on a port that is taken, and leaves nothing behind', async () => {
    const taken = createServer();
    taken.listen(0, '127.0.0.1');
    await once(taken, 'listening');
    onTestFinished(() => void taken.close());
    const ports = { control: (taken.address() as AddressInfo).port };
    const own = ownTemporaryFolder();
    await expect(startSandbox({ ports }, deps)).rejects.toMatchObject({
      code: 'PORT_TAKEN',
      fix: expect.stringMatching(/^Set --control-port /),
    });
    expect(readdirSync(own)).toEqual([]);
  });

  it('refuses options that make no sense', async () => {
    await expect(startSandbox({ market: { rate: -1 } }, deps)).rejects.toBeInstanceOf(ZodError);
    await expect(startSandbox({ marked: {} } as object, deps)).rejects.toBeInstanceOf(ZodError);
  });
});

describe('a scenario', () => {
  it('has its own people, whom the usual client sees when it names no clients', async () => {
    const { description: it } = await runningSandbox({
      users: [{ username: 'dora', password: 'd', accounts: [{ id: 'D-1', predictions: true }] }],
    });
    const answer = await ask(`${it.platform}/v2/users/me/accounts`, { headers: await signedIn(it) });
    expect(answer.json.accounts.map((account: { trading_account_id: string }) => account.trading_account_id)).toEqual([
      'D-1',
    ]);
  });

  it('has its own clients, with the scopes that it gives them', async () => {
    const { description: it } = await runningSandbox({
      clients: [{ clientId: 'reader', clientSecret: 's', scopes: ['order:information'], users: ['bob'] }],
    });
    expect((await askToken(it)).json.scope).toBe('order:information');
  });

  it('plays its timeline', async () => {
    const { description: it } = await runningSandbox({
      timeline: [
        { atMs: 1, faults: { requests: { status_500: 1 } }, rate: 1000 },
        { atMs: 300, heal: true, rate: 0 },
        { atMs: 301, burst: 10 },
      ],
    });
    await eventually(async () => {
      const lines = await controlLines(it, '/ledger?kind=fault');
      expect(lines.map((line) => line.what)).toEqual(['set', 'rate', 'healed', 'rate', 'burst']);
    });
    expect((await ask(`${it.control}/faults`)).json).toMatchObject({ requests: {} });
  });
});

describe("issue: The accounts of a user added by POST /users never had an order from the sandbox's market.", () => {
  it('the market trades the accounts of a new user', async () => {
    const sandbox = await runningSandbox();
    const at = sandbox.description;
    const accounts = [{ id: 'SIM-2001', predictions: true }];
    await control(at, '/users', { username: 'dave', password: 'p', accounts });
    await control(at, '/burst', { count: 1000 });
    await eventually(() => expect(sandbox.controls.status()).toMatchObject({ changes: 1000 }));
    expect((await controlLines(at, '/state?accountId=SIM-2001')).length).toBeGreaterThan(0);
  });
});

describe('issue: Any web page that a developer had open could stop or change the sandbox.', () => {
  /** The status of a request as a browser sends it for a page. */
  async function statusOf(
    address: string,
    method: string,
    path: string,
    headers: Readonly<Record<string, string>>,
  ): Promise<number> {
    const { host } = new URL(address);
    const lines = Object.entries({ host, connection: 'close', 'content-length': '0', ...headers }).map(
      ([name, value]) => `${name}: ${value}`,
    );
    const answer = await sendRaw(address, `${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
    return Number(answer.match(/^HTTP\/1\.1 (\d+)/)?.[1]);
  }

  const pages: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
    ['of another site', { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }],
    ['of another site in an older browser', { origin: 'https://evil.example' }],
    ['of another port of this machine', { origin: 'http://127.0.0.1:3000', 'sec-fetch-site': 'same-site' }],
    ['without an origin that can be named', { origin: 'null' }],
    ['whose name was made to resolve here', { host: 'evil.example', origin: 'http://evil.example' }],
    ['whose name was made to resolve here, as its own', { host: 'evil.example', 'sec-fetch-site': 'same-origin' }],
    ['with a form', { origin: 'https://evil.example', 'content-type': 'application/x-www-form-urlencoded' }],
  ];

  /**
   * A verb without a body is a simple request of a browser: any page that a
   * developer had open could stop the sandbox.
   */
  describe.each(['/heal', '/day', '/stop', '/faults', '/rate'])('POST %s of the control port', (verb) => {
    it.each(pages)('does nothing for a page %s', async (_page, headers) => {
      const { description } = await runningSandbox();
      expect(await statusOf(description.control, 'POST', verb, headers)).toBe(403);
      expect(await statusOf(description.control, 'GET', '/status', {})).toBe(200);
    });
  });

  describe('the control port', () => {
    it('shows nothing to a page whose name was made to resolve here', async () => {
      const { description } = await runningSandbox();
      for (const path of ['/status', '/faults', '/state', '/ledger', '/'])
        expect(await statusOf(description.control, 'GET', path, { host: 'evil.example' }), path).toBe(403);
    });

    it('answers programs, and a person who types its address', async () => {
      const { description } = await runningSandbox();
      expect(await statusOf(description.control, 'POST', '/heal', {})).toBe(200);
      expect(await statusOf(description.control, 'GET', '/', { 'sec-fetch-site': 'none' })).toBe(200);
      const { port } = new URL(description.control);
      expect(await statusOf(description.control, 'POST', '/heal', { host: `localhost:${port}` })).toBe(200);
    });
  });

  describe('"Break it" of the demo', () => {
    it.each(pages)('does nothing for a page %s', async (_page, headers) => {
      const breakIt = new BreakItServer();
      const address = await breakIt.open();
      expect(await statusOf(address, 'POST', '/proofs', headers)).toBe(403);
      // No demo is attached.
      expect(await statusOf(address, 'POST', '/proofs', {})).toBe(503);
      await breakIt.close();
    });
  });
});

describe('issue: A sandbox that ran for long ended without memory, on settings that nobody had changed.', () => {
  /** Measured at the highest rate, 500,001 orders in 770 MB: the largest figure of three. */
  const bytesPerOrder = 1_600;
  /** Node's own choice on a machine of 2 GB. */
  const smallestHeapBytes = 2 ** 30;

  it('keeps no more orders than fit the heap of a small machine', () => {
    const { maxOrders, openOrders } = sandboxOptions.parse({}).market;
    expect(maxOrders * bytesPerOrder).toBeLessThan(0.8 * smallestHeapBytes);
    expect(maxOrders).toBeGreaterThan(100 * openOrders);
  });
});
