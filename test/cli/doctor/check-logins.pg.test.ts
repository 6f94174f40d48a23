import { randomBytes } from 'node:crypto';
import { expect, it, onTestFinished } from 'vitest';
import { runProgram } from '../../../src/cli/program.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { createPool } from '../../../src/store/session/pool.ts';
import { PostgresTokenStore } from '../../../src/store/token-store.ts';
import { linkAs, linkedSandbox } from '../../support/platform/linked-sandbox.ts';
import { alice } from '../../support/platform/sign-in.ts';
import { cliIo } from '../../support/rest/cli-io.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { emptyDatabase, freshDatabase } from '../../support/servers/database.ts';

async function rig() {
  const { sandbox, port } = await linkedSandbox();
  const database = await freshDatabase();
  const pool = createPool({ log: silentLog }, { url: database.url, applicationName: 'test', maxConnections: 2 });
  onTestFinished(async () => {
    await pool.end();
    await database.drop();
  });
  const { platform, staging, auth, stream, stagingStream } = sandbox.description;
  const key = randomBytes(32).toString('base64');
  const env = {
    DATABASE_URL: database.url,
    TIDEMARK_ENCRYPTION_KEY: key,
    PLATFORM_URL: platform,
    PLATFORM_STAGING_URL: staging,
    PLATFORM_AUTH_URL: auth,
    PLATFORM_STREAM_URL: stream,
    PLATFORM_STAGING_STREAM_URL: stagingStream,
    PLATFORM_CLIENT_ID: 'sandbox-app',
    TIDEMARK_LOG_LEVEL: 'error',
  };
  const store = (sealedBy: string) =>
    new PostgresTokenStore({ pool, clock: systemClock, random: seededRandom(1), key: new Secret(sealedBy) });
  const doctor = async (over: Record<string, string> = {}) => {
    // Blank: left out.
    const io = cliIo(Object.fromEntries(Object.entries({ ...env, ...over }).filter(([, value]) => value !== '')));
    await runProgram(io, ['doctor', '--json']);
    const findings: { part: string; verdict: string; detail: string; fix?: string }[] = JSON.parse(io.out());
    const by = Object.fromEntries(findings.map(({ part, ...finding }) => [part, finding]));
    return { by, text: io.out() };
  };
  return { env, port, key, store, doctor };
}

it('tells each linked login by itself: the one that is well, and what is wrong with each of the others', async () => {
  const { env, port, key, store, doctor } = await rig();
  await linkAs(alice, env, port, 'alice');
  const lasting = { accessToken: new Secret('n0t-a-token'), expiresAtMs: systemClock.nowMs() + 3_600_000 };
  await store(key).save('login:refused', 0, lasting);
  await store(key).save('login:ended', 0, { ...lasting, expiresAtMs: systemClock.nowMs() - 600_000 });
  await store(randomBytes(32).toString('base64')).save('login:foreign', 0, lasting);

  const { by, text } = await doctor();
  expect(by['login alice']).toEqual({
    verdict: 'ok',
    detail: expect.stringMatching(/^is signed in for \d+ min more, and sees 2 accounts$/),
  });
  expect(by['login refused']).toEqual({
    verdict: 'fail',
    detail: 'the platform refuses its token (401)',
    fix: 'Sign in again: `tidemark link --name refused`.',
  });
  expect(by['login ended']).toMatchObject({
    verdict: 'warn',
    detail: expect.stringMatching(/^its token ended 10 min ago/),
  });
  expect(by['login foreign']).toMatchObject({
    verdict: 'fail',
    detail: expect.stringContaining('was not sealed with this key'),
    fix: expect.stringContaining('TIDEMARK_ENCRYPTION_KEY'),
  });
  // Without a client of our own the streams are opened with the login that is well.
  expect(by['stream']).toMatchObject({ verdict: 'ok' });
  expect(by['sign-in']).toEqual({ verdict: 'ok', detail: 'only linked logins are followed' });
  expect(text).not.toContain('n0t-a-token');
  expect((await store(key).load('login:alice'))?.generation).toBe(1);
}, 60_000);

it('fails where only logins are followed and none is linked, and names no login where none are followed', async () => {
  const { doctor } = await rig();
  expect((await doctor({ PLATFORM_CREDENTIALS: 'linked' })).by['logins']).toMatchObject({
    verdict: 'fail',
    fix: 'Run `tidemark link`, or set PLATFORM_CREDENTIALS to client or both.',
  });
  const client = {
    PLATFORM_CREDENTIALS: 'client',
    PLATFORM_CLIENT_ID: 'sandbox-desk',
    PLATFORM_CLIENT_SECRET: 'sandbox-desk-secret',
  };
  const { by } = await doctor(client);
  expect(Object.keys(by).filter((part) => part.startsWith('login'))).toEqual([]);
  expect(by['sign-in']).toMatchObject({ verdict: 'ok', detail: expect.stringMatching(/tokens that last/) });
});

it('fails where logins are stored and their key is not set: nobody follows their accounts', async () => {
  const { key, store, doctor } = await rig();
  const lasting = { accessToken: new Secret('n0t-a-token'), expiresAtMs: systemClock.nowMs() + 3_600_000 };
  await store(key).save('login:alice', 0, lasting);
  expect((await doctor({ TIDEMARK_ENCRYPTION_KEY: '' })).by['logins']).toMatchObject({
    verdict: 'fail',
    detail: expect.stringMatching(/^alice: it is linked, and TIDEMARK_ENCRYPTION_KEY is not set/),
  });
});

it('tells the platform and Kafka where the database is away, and the database where the platform is', async () => {
  const { doctor } = await rig();
  const away = (await doctor({ DATABASE_URL: 'postgres://app:pw@127.0.0.1:1/none', PLATFORM_CREDENTIALS: 'linked' }))
    .by;
  expect([away['database']?.verdict, away['logins']?.verdict, away['clock']?.verdict]).toEqual(['fail', 'fail', 'ok']);
  const alone = (await doctor({ PLATFORM_URL: 'http://127.0.0.1:1' })).by;
  expect([alone['schema']?.verdict, alone['platform']?.verdict, alone['kafka']?.verdict]).toEqual([
    'ok',
    'fail',
    'fail',
  ]);
}, 60_000);

it('leaves a database that is not migrated to the finding that says so', async () => {
  const { doctor } = await rig();
  await using empty = await emptyDatabase();
  const { by } = await doctor({ DATABASE_URL: empty.url });
  expect(by['schema']).toMatchObject({ verdict: 'fail', fix: 'Run `tidemark migrate`.' });
  expect(by).not.toHaveProperty('logins');
});
