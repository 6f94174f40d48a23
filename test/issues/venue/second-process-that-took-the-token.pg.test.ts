// What a user saw: A second process was started, and the first said that a person has to sign in.

import { randomBytes } from 'node:crypto';
import { expect, it, onTestFinished } from 'vitest';
import { runProgram } from '../../../src/cli/program.ts';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { type Clock, systemClock } from '../../../src/runtime/clock.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import { platformSettings } from '../../../src/sandbox/describe-sandbox.ts';
import type { SandboxInput } from '../../../src/sandbox/sandbox-options.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { createPool } from '../../../src/store/session/pool.ts';
import { PostgresTokenStore, tokenKeys } from '../../../src/store/token-store.ts';
import { RefreshingTokenSource } from '../../../src/venue/platform/token-source.ts';
import { UndiciHttp } from '../../../src/venue/platform/undici-http.ts';
import { control, controlLines, runningSandbox } from '../../support/platform/sandbox.ts';
import { accountsOf } from '../../support/platform/sign-in.ts';
import { cliIo } from '../../support/rest/cli-io.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { freshDatabase } from '../../support/servers/database.ts';

const hourMs = 3_600_000;

/** Processes of one client on one database; each new token ends the one before. */
async function rig(tokens: SandboxInput['tokens'] = {}) {
  const { description: sandbox } = await runningSandbox({ tokens: { single: true, ...tokens } });
  const database = await freshDatabase();
  onTestFinished(() => database.drop());
  const process = (holder: string, { key, skewMs = 0 }: { key?: Secret; skewMs?: number } = {}) => {
    const clock: Clock = Object.create(systemClock, { nowMs: { value: () => systemClock.nowMs() + skewMs } });
    const pool = createPool({ log: silentLog }, { url: database.url, applicationName: holder, maxConnections: 2 });
    const http = new UndiciHttp({ clock: systemClock });
    const clientSecret = new Secret(sandbox.clientSecret);
    const keys = tokenKeys({ encryptionKey: key, platformClientSecret: clientSecret });
    if (keys === undefined) throw new Error('there is a secret');
    const store = new PostgresTokenStore({ pool, clock, random: seededRandom(1), ...keys });
    const source = new RefreshingTokenSource(
      { http, clock, store, random: seededRandom(1), log: silentLog, metrics: createMetrics().platform },
      {
        ...{ name: 'client', holder, baseUrl: sandbox.platform, grant: 'client_credentials' },
        credential: { clientId: sandbox.clientId, clientSecret },
      },
    );
    onTestFinished(async () => {
      await source.drain();
      await http.close();
      await pool.end();
    });
    return source;
  };
  const asked = async () => (await controlLines(sandbox, '/ledger?kind=token')).length;
  /** As a read does. */
  const read = async (source: RefreshingTokenSource) => {
    const { platform } = sandbox;
    const had = await source.get(platform);
    if (!had.ok) throw new Error(had.error.code);
    const { status } = await accountsOf(sandbox, had.token.secret.reveal());
    if (status !== 401) return status;
    const next = await source.renew(had.token.generation, platform);
    if (!next.ok) throw new Error(next.error.code);
    return (await accountsOf(sandbox, next.token.secret.reveal())).status;
  };
  return { sandbox, database, process, asked, read };
}

it.each<[string, { key?: Secret; skewMs?: number }]>([
  ['without a key for the encryption', {}],
  [
    'of which the second has a key, and the first has none yet',
    { key: new Secret(randomBytes(32).toString('base64')) },
  ],
  ['of which the second has a clock that is two hours ahead', { skewMs: 2 * hourMs }],
  ['of which the second has a clock that is two hours behind', { skewMs: -2 * hourMs }],
])('processes %s share the one token, and one renewal is enough for both', async (_what, second) => {
  const { sandbox, process, asked, read } = await rig();
  const [one, two] = [process('one'), process('two', second)];
  expect([await read(one), await read(two)]).toEqual([200, 200]);
  expect(await asked()).toBe(1);
  await control(sandbox, '/faults', { now: [{ action: 'revoke_tokens' }] });
  expect([await read(one), await read(two), await read(one)]).toEqual([200, 200, 200]);
  expect(await asked()).toBe(2);
  expect([one.status().state, two.status().state]).toEqual(['held', 'held']);
});

it('doctor takes the token that is there, and asks for one where there is none, and leaves it', async () => {
  const { sandbox, database, process, asked, read } = await rig();
  const doctor = async (over: Record<string, string> = {}) => {
    const io = cliIo({
      ...platformSettings(sandbox),
      DATABASE_URL: database.url,
      TIDEMARK_LOG_LEVEL: 'error',
      ...over,
    });
    await runProgram(io, ['doctor', '--json']);
    expect(io.out()).not.toContain(sandbox.clientSecret);
    const findings: { part: string; verdict: string; detail: string }[] = JSON.parse(io.out());
    return Object.fromEntries(findings.map(({ part, ...finding }) => [part, finding]));
  };
  expect((await doctor())['sign-in']).toMatchObject({
    verdict: 'ok',
    detail: expect.stringMatching(/tokens that last 60 min/),
  });
  const source = process('one');
  expect(await read(source)).toBe(200);
  expect(await asked()).toBe(1);
  const beside = await doctor();
  expect(beside['sign-in']).toMatchObject({
    verdict: 'ok',
    detail: expect.stringMatching(/share is good for \d+ min more/),
  });
  expect([beside['accounts']?.verdict, beside['stream']?.verdict]).toEqual(['ok', 'ok']);
  expect(await read(source)).toBe(200);
  expect(await asked()).toBe(1);
  // Another program signs in as this client.
  await control(sandbox, '/faults', { now: [{ action: 'revoke_tokens' }] });
  expect((await doctor())['sign-in']).toMatchObject({
    verdict: 'warn',
    detail: expect.stringMatching(/ends tokens early/),
  });
  expect(await read(source)).toBe(200);
  expect(await asked()).toBe(2);
}, 60_000);
