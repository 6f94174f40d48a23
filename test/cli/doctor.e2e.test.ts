import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { runProgram } from '../../src/cli/program.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { systemRandom } from '../../src/runtime/random.ts';
import { type RunningSandbox, startSandbox } from '../../src/sandbox/start-sandbox.ts';
import { cliIo } from '../support/cli-io.ts';
import { freshDatabase, type TestDatabase } from '../support/database.ts';
import { testLog } from '../support/test-log.ts';
import { topicPrefix } from '../support/topics.ts';

let sandbox: RunningSandbox;
let database: TestDatabase;
let env: Record<string, string>;

beforeAll(async () => {
  database = await freshDatabase();
  sandbox = await startSandbox({}, { clock: systemClock, random: systemRandom, log: testLog });
  const { platform, staging, auth, stream, stagingStream, clientId, clientSecret } = sandbox.description;
  env = {
    DATABASE_URL: database.url,
    KAFKA_BROKERS: inject('kafkaBrokers').join(','),
    TIDEMARK_TOPIC_PREFIX: topicPrefix(),
    PLATFORM_URL: platform,
    PLATFORM_STAGING_URL: staging,
    PLATFORM_AUTH_URL: auth,
    PLATFORM_STREAM_URL: stream,
    PLATFORM_STAGING_STREAM_URL: stagingStream,
    PLATFORM_CLIENT_ID: clientId,
    PLATFORM_CLIENT_SECRET: clientSecret,
  };
});

afterAll(async () => {
  await sandbox.stop();
  await database.drop();
});

async function run(argv: string[], settings = env) {
  const io = cliIo(settings);
  await runProgram(io, argv);
  return { code: io.code(), out: io.out(), err: io.err() };
}

it('the doctor fails on missing topics, names the command that fixes it, and is content after that', async () => {
  const before = await run(['doctor']);
  expect(before.code).toBe(1);
  expect(before.out).toMatch(/^fail {2}topics: \S+tidemark\.order-updates\.v1 is missing: run `tidemark topics apply`$/m);

  expect((await run(['topics', 'apply'])).code).toBe(0);
  const { code, out } = await run(['doctor', '--json']);
  const findings: { part: string; verdict: string }[] = JSON.parse(out);
  expect(findings.filter(({ verdict }) => verdict === 'fail')).toEqual([]);
  expect(code).toBe(0);
  expect(findings.map(({ part }) => part)).toEqual(
    expect.arrayContaining([
      'settings',
      'database',
      'schema',
      'kafka',
      'topics',
      'clock',
      'sign-in',
      'accounts',
      'orders',
      'stream',
      'staging stream',
    ]),
  );
  expect(out).not.toContain(env['PLATFORM_CLIENT_SECRET']);
});

it('the doctor tells wrong settings one by one, and looks no further', async () => {
  const { code, out } = await run(['doctor'], { ...env, TIDEMARK_ADMIN_PORT: '70000', TIDEMARK_LANE: 'x' });
  expect(code).toBe(1);
  expect(out.match(/^fail {2}settings: /gm)).toHaveLength(2);
  expect(out).not.toContain('database');
});
