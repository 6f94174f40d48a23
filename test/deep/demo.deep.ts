import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { neutralEnv } from '../support/runs/neutral-env.ts';
import { eventually } from '../support/runs/poll.ts';
import {
  expectNothingLeft,
  givenDatabase,
  givenParts,
  lastLine,
  ownFolder,
  startDemo,
} from '../support/runs/running-demo.ts';
import { tidemarkEntry } from '../support/runs/tidemark-process.ts';

/**
 * Gives a curl line again: the shell takes it apart as it would
 * for curl, which not every machine has.
 */
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

it('interrupted by Ctrl-C, the demo still proves its run and ends in order', async () => {
  const demo = startDemo([], await givenParts());
  await eventually(
    () => {
      expect(demo.out, demo.err).toContain('Where to look next');
      expect(demo.out, demo.err).toContain('The market again');
    },
    { deadlineMs: 120_000, everyMs: 50 },
  );
  const first = await repeat(/^ {2}\$ (curl .* -X POST .*)$/m.exec(demo.out)?.[1] ?? '');
  expect(first, 'the line that was shown, given again').toMatchObject({
    replayed: 'true',
    body: { result: 'applied' },
  });
  demo.child.kill('SIGINT');
  expect(await demo.exited, demo.err).toBe(0);
  expect(demo.out).toMatch(/\ncomparing the ledger of the sandbox, the database and the topic …\n/);
  expect(demo.out).toContain('By ledger, database and topic: 0 lost, 0 doubled, 0 out of order.');
  await expectNothingLeft(demo);
}, 240_000);

it('on a terminal the demo is quiet but for one line in place, and shows how far its comparison is', async () => {
  // As a terminal does it: Ctrl-C is a character, and its signal reaches the whole group.
  const command = `stty cols 100; exec ${process.execPath} ${tidemarkEntry} demo`;
  const terminal = spawn('script', ['-qefc', command, '/dev/null'], {
    env: { ...neutralEnv(), ...(await givenParts()) },
  });
  onTestFinished(() => void terminal.kill('SIGKILL'));
  const exited = once(terminal, 'exit');
  let out = '';
  terminal.stdout.on('data', (chunk: Buffer) => {
    out += chunk;
  });
  // A late command may end after the lost one, and its update is read back after that.
  await eventually(
    () => {
      expect(out).toMatch(/late {6}⇒ applied/);
      expect(out).toMatch(/lost {6}⇒ rejected/);
      expect(out.slice(out.lastIndexOf('\n') + 1).replaceAll('\u001b[K', '')).toMatch(
        /^(?:\rhttp:\S+\/console {2}\d+\/s, \d+ read back {2}no faults {2}Ctrl-C: the proof){3,}$/,
      );
    },
    { deadlineMs: 120_000, everyMs: 50 },
  );
  terminal.stdin.write('\u0003');
  expect(await exited, out).toEqual([0, null]);
  const afterwards = out.slice(out.lastIndexOf('Ctrl-C: the proof'));
  expect(afterwards).toMatch(/\rcomparing[\s\S]*By ledger, database and topic: 0 lost, 0 doubled, 0 out of order\./);
}, 240_000);

it('without Java and Docker the demo says that updates are not shown, and what is missing, and runs while the log fills', async () => {
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
  const said = /^Kafka {5}none$[\s\S]*^Updates are not shown without Kafka\.\n(.*)$/m.exec(demo.err)?.[1] ?? '';
  expect(said).toMatch(
    /^No Kafka: it needs Java 17 or newer and Java was not found; install .+, start .+, or set KAFKA_BROKERS\.$/,
  );
  const proof = lastLine(demo.out);
  expect(proof).toMatchObject({
    kafka: said,
    published: 0,
    consumed: 0,
    lost: 0,
    doubled: 0,
    outOfOrder: 0,
  });
  expect(proof['updates']).toBeGreaterThan(Number(proof['orders']));
  await expectNothingLeft(demo);
}, 240_000);

describe('issue: Ctrl-C while the demo started changed nothing: it placed orders, and ended 48 s later.', () => {
  it.each([
    ['Starting Postgres …', 'Starting Kafka …'],
    ['Starting Kafka …', 'Starting the sandbox and the service …'],
    ['Starting the sandbox and the service …', 'Open '],
  ])(
    'interrupted at "%s" it says so, starts nothing further, and leaves nothing behind',
    async (step, next) => {
      const demo = startDemo([], {});
      await eventually(() => expect(demo.out, demo.err).toContain(step), { deadlineMs: 60_000, everyMs: 1 });
      demo.child.kill('SIGINT');
      expect(await demo.exited, demo.err).toBe(130);
      expect(demo.out).toMatch(/Ending …\n$/);
      expect(demo.out).not.toContain(next);
      expect(demo.err).toBe('tidemark: it was interrupted before everything was started\n');
      await expectNothingLeft(demo);
    },
    120_000,
  );
});
