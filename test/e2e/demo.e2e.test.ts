import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, inject, it, onTestFinished } from 'vitest';
import { emptyDatabase } from '../support/database.ts';
import { eventually } from '../support/poll.ts';
import { commandLinesWith } from '../support/processes.ts';
import { neutralEnv, tidemarkEntry } from '../support/tidemark-process.ts';

interface Demo {
  readonly child: ChildProcess;
  /** Its TMPDIR: whatever it starts has this folder's name in its command line, and leaves nothing in it. */
  readonly folder: string;
  readonly exited: Promise<number | null>;
  out: string;
  err: string;
}

/** The demo as a person starts it: nothing stands between it and the signals. */
function startDemo(args: readonly string[], env: Readonly<Record<string, string>>): Demo {
  const folder = ownFolder();
  const child = spawn(process.execPath, [tidemarkEntry, 'demo', ...args], {
    env: { ...neutralEnv(), TMPDIR: folder, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)));
  const demo: Demo = { child, folder, exited, out: '', err: '' };
  child.stdout.on('data', (chunk: Buffer) => {
    demo.out += chunk;
  });
  child.stderr.on('data', (chunk: Buffer) => {
    demo.err += chunk;
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return demo;
}

function ownFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-demo-test-'));
  // As /tmp is: the user as whom root runs Postgres has to get through.
  chmodSync(folder, 0o1777);
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Postgres and Kafka of the run, so that only what the test is about is the demo's own. */
async function givenDatabase(): Promise<Record<string, string>> {
  const database = await emptyDatabase();
  onTestFinished(() => database.drop());
  return { DATABASE_URL: database.url };
}

/** Gives a curl line again: the shell takes it apart as it would for curl, which not every machine has. */
async function repeat(line: string): Promise<{ replayed: string | null; body: unknown }> {
  const { stdout } = await promisify(execFile)('sh', ['-c', `printf '%s\\0' ${line}`]);
  const words = stdout.split('\0').slice(0, -1);
  const after = (flag: string) => words.flatMap((word, index) => (words[index - 1] === flag ? [word] : []));
  const headers = after('-H').map((header): [string, string] => {
    const [name = '', value = ''] = header.split(/: (.*)/s);
    return [name, value];
  });
  const url = words.find((word) => word.startsWith('http')) ?? '';
  const response = await fetch(url, { method: after('-X')[0] ?? 'GET', headers, body: after('-d')[0] ?? null });
  return { replayed: response.headers.get('idempotent-replayed'), body: await response.json() };
}

async function expectNothingLeft({ folder }: Demo): Promise<void> {
  await eventually(() => {
    expect(commandLinesWith(folder)).toEqual([]);
    expect(readdirSync(folder)).toEqual([]);
  });
}

function lastLine(text: string): Record<string, unknown> {
  return JSON.parse(text.trimEnd().split('\n').at(-1) ?? '');
}

/** What the README shows of a demo, without what depends on the machine and on chance. */
function readmeLines(): string[] {
  const shown = /```\n(Open [\s\S]*?)```/.exec(readFileSync('README.md', 'utf8'))?.[1]?.split('\n') ?? [];
  const lines = shown.filter((line) => /^(Sandbox|Service|REST|Updates|\d\. |By ledger|\d+ commands)/.test(line));
  expect(lines.length).toBeGreaterThan(6);
  return lines;
}

function shapeOf(text: string): string {
  return text.replace(/\d+/g, '0').replace(/ {2,}/g, '  ');
}

it('the demo ends by itself after its seconds, proves that nothing was lost, and leaves nothing behind', async () => {
  const demo = startDemo(['--seconds', '5', '--json'], {});
  expect(await demo.exited, demo.err).toBe(0);
  const proof = lastLine(demo.out);
  expect(proof).toMatchObject({
    lost: 0,
    doubled: 0,
    outOfOrder: 0,
    kafka: expect.stringMatching(/^Kafka \d/),
    postgres: expect.stringMatching(/^Postgres \d/),
  });
  for (const figure of ['observations', 'updates', 'published', 'consumed', 'orders']) {
    expect(proof[figure], figure).toBeGreaterThan(0);
  }
  expect(proof['consumed']).toBe(proof['updates']);
  expect(proof).toMatchObject({ commands: 5, settled: 5, unresolved: 0 });
  for (const verdict of [
    'placed    ⇒ applied',
    'replaced  ⇒ applied',
    'landed    ⇒ applied',
    'late      ⇒ applied',
    'lost      ⇒ rejected',
  ])
    expect(demo.err, verdict).toContain(verdict);
  expect(demo.err, 'the order that landed late, as a consumer reads it').toMatch(/r1 .* 0 of 5 buy KO limit at 1$/m);
  expect(demo.out.trimEnd(), 'stdout is for the proof alone').not.toContain('\n');
  expect(demo.err, 'updates as the consumer reads them').toMatch(/ {2}(prediction|account):\S+ {2}r\d+ /);
  expect(demo.err).toContain('Where to look next');
  for (const line of readmeLines()) expect(shapeOf(demo.err), 'as the README shows it').toContain(shapeOf(line));
  await expectNothingLeft(demo);
}, 240_000);

it('interrupted by Ctrl-C, the demo still proves its run and ends in order', async () => {
  const demo = startDemo([], { ...(await givenDatabase()), KAFKA_BROKERS: inject('kafkaBrokers').join(',') });
  await eventually(
    () => {
      expect(demo.out, demo.err).toContain('Where to look next');
      expect(demo.out, demo.err).toContain('The market again');
    },
    { deadlineMs: 120_000, everyMs: 50 },
  );
  const first = await repeat(/^ {2}\$ (curl .* -X POST .*)$/m.exec(demo.out)?.[1] ?? '');
  expect(first, 'the line that was shown, given again').toMatchObject({ replayed: 'true', body: { outcome: 'applied' } });
  demo.child.kill('SIGINT');
  expect(await demo.exited, demo.err).toBe(0);
  expect(demo.out).toContain('By ledger, database and topic: 0 lost, 0 doubled, 0 out of order.');
  await expectNothingLeft(demo);
}, 240_000);

it('without Java and Docker the demo says in one sentence what is missing, and runs while the log fills', async () => {
  const folder = ownFolder();
  mkdirSync(join(folder, 'bin'));
  // All that it needs to run at all; nothing that could start a Kafka.
  for (const program of ['sh', 'sleep', 'rm']) symlinkSync(join('/bin', program), join(folder, 'bin', program));
  const demo = startDemo(['--seconds', '3', '--json'], {
    ...(await givenDatabase()),
    PATH: join(folder, 'bin'),
    XDG_CACHE_HOME: join(folder, 'cache'),
    DOCKER_HOST: `unix://${folder}/no-docker.sock`,
  });
  expect(await demo.exited, demo.err).toBe(0);
  const said = /^Kafka {5}none: (.*)$/m.exec(demo.err)?.[1] ?? '';
  expect(said).toMatch(
    /^No Kafka: it needs Java 17 or newer and Java was not found; install .+, start .+, or set KAFKA_BROKERS\.$/,
  );
  const proof = lastLine(demo.out);
  expect(proof).toMatchObject({ kafka: `none: ${said}`, published: 0, consumed: 0, lost: 0, doubled: 0, outOfOrder: 0 });
  expect(proof['updates']).toBeGreaterThan(Number(proof['orders']));
  await expectNothingLeft(demo);
}, 240_000);
