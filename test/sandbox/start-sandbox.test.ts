import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ZodError } from 'zod';
import { systemClock } from '../../src/runtime/clock.ts';
import { seededRandom } from '../../src/sandbox/seeded-random.ts';
import { startSandbox } from '../../src/sandbox/start-sandbox.ts';
import { ask, askToken, controlLines, runningSandbox, signedIn } from '../support/platform/sandbox.ts';
import { eventually } from '../support/runs/poll.ts';
import { silentLog } from '../support/runs/silent-log.ts';

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
