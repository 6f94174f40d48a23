import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { runProgram } from '../../src/cli/program.ts';
import { ask } from '../support/platform/sandbox.ts';
import { cliIo } from '../support/rest/cli-io.ts';
import { eventually } from '../support/runs/poll.ts';
import { freshDatabase, type TestDatabase } from '../support/servers/database.ts';
import { topicPrefix } from '../support/servers/topics.ts';

let database: TestDatabase;
let env: Record<string, string>;
/** `tidemark dev` on the Postgres and Kafka of the run, and its end. */
let dev: { readonly io: ReturnType<typeof cliIo>; readonly ended: Promise<void> };

beforeAll(async () => {
  database = await freshDatabase();
  const given = { DATABASE_URL: database.url, KAFKA_BROKERS: inject('kafkaBrokers').join(',') };
  const io = cliIo({ ...given, PATH: process.env['PATH'] ?? '' });
  dev = { io, ended: runProgram(io, ['dev', '--rate', '0']) };
  await eventually(() => expect(io.out(), io.err()).toContain('Ctrl-C here stops the rest'), {
    deadlineMs: 60_000,
    everyMs: 50,
  });
  const pasted = Object.fromEntries(
    Array.from(io.out().matchAll(/^export (\w+)=(.*)$/gm), ([, name = '', value = '']) => [name, value]),
  );
  expect(io.out(), 'the password of a database that was given is not shown').not.toContain(database.url);
  expect(pasted, 'the shell that is pasted into has it').not.toHaveProperty('DATABASE_URL');
  env = { ...pasted, ...given, TIDEMARK_TOPIC_PREFIX: topicPrefix() };
});

afterAll(async () => {
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
  expect(before.out).toMatch(
    /^fail {2}topics: \S+tidemark\.order-updates\.v1 is missing: run `tidemark topics apply`$/m,
  );

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
  const { code, out } = await run(['doctor'], { ...env, TIDEMARK_ADMIN_PORT: '70000', TIDEMARK_WEIGHT: 'x' });
  expect(code).toBe(1);
  expect(out.match(/^fail {2}settings: /gm)).toHaveLength(2);
  expect(out).not.toContain('database');
});

it('the parts for developing end with Ctrl-C, and leave alone those that were given', async () => {
  dev.io.signal('SIGINT');
  await dev.ended;
  expect([dev.io.code(), dev.io.err()]).toEqual([0, 'Starting Postgres …\nStarting Kafka …\nEnding …\n']);
  await expect(ask(env['PLATFORM_URL'] ?? '')).rejects.toThrow();
  const { out } = await run(['doctor']);
  expect(out).toMatch(/^ok {4}database: /m);
  expect(out).toMatch(/^ok {4}topics: /m);
  expect(out).toMatch(/^fail {2}platform: /m);
  // The token that the processes of the database share is still good.
  expect(out).toMatch(/^ok {4}sign-in: /m);
});
