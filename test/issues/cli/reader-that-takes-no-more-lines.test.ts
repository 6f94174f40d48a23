// What a user saw: The reader of the log hung, and the service took more memory until it was killed.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Writable } from 'node:stream';
import { expect, it, onTestFinished } from 'vitest';
import { writeAtPaceOfReader } from '../../../src/cli/io/io.ts';
import { PipeOutput } from '../../../src/cli/io/pipe-output.ts';

/** Writes 64 MiB as a service does, to a pipe that nobody reads; one more line once asked. */
const service = `
  import { PipeOutput } from './src/cli/io/pipe-output.ts';
  const output = new PipeOutput(process.stdout, (leftOut) => process.stderr.write('left out: ' + leftOut + '\\n'));
  const line = 'x'.repeat(1023) + '\\n';
  for (let n = 0; n < 64 * 1024; n += 1) output.write(line);
  process.stderr.write('waiting: ' + process.stdout.writableLength + '\\n');
  process.stdin.once('data', () => {
    output.write('the end\\n');
    process.stdin.destroy();
  });
`;

it('the log of a service waits for its reader in 8 MiB at most, and goes on once it reads again', async () => {
  const child = spawn(process.execPath, ['--input-type=module', '-e', service], { stdio: 'pipe' });
  onTestFinished(() => void child.kill('SIGKILL'));
  let said = '';
  child.stderr.on('data', (bytes) => (said += bytes));
  while (!said.includes('waiting')) await once(child.stderr, 'data');
  const waiting = Number(/waiting: (\d+)/.exec(said)?.[1]);
  expect(waiting).toBeGreaterThan(7 * 1024 * 1024);
  expect(waiting).toBeLessThan(9 * 1024 * 1024);

  let read = '';
  child.stdout.on('data', (bytes) => (read += bytes));
  while (read.length < waiting) await once(child.stdout, 'data');
  child.stdin.write('\n');
  await once(child, 'close');
  expect(read.endsWith('x\nthe end\n')).toBe(true);
  const leftOut = 64 * 1024 - (read.split('\n').length - 2);
  expect(said).toMatch(new RegExp(`^left out: undefined\\nwaiting: \\d+\\nleft out: ${leftOut}\\n$`));
});

/** Takes a text only when it is told to. */
function heldOutput() {
  const held: (() => void)[] = [];
  const stream = new Writable({ highWaterMark: 4, write: (_chunk, _encoding, done) => void held.push(done) });
  return { held, stream, output: new PipeOutput(stream) };
}

it.each([
  ['has read', ({ held }: ReturnType<typeof heldOutput>) => held.shift()?.()],
  ['has gone', ({ stream }: ReturnType<typeof heldOutput>) => stream.destroy(new Error('EPIPE'))],
  ['waits for a person who asks for the end', (_: unknown, asked: AbortController) => asked.abort()],
] as const)('a command writes its next line when its reader %s', async (_name, act) => {
  const reader = heldOutput();
  reader.stream.on('error', () => undefined);
  const asked = new AbortController();
  let written = false;
  const writing = writeAtPaceOfReader(reader.output, 'a line\n', asked.signal).then(() => {
    written = true;
  });
  await new Promise(setImmediate);
  expect(written).toBe(false);
  act(reader, asked);
  await writing;
});

it('a reader that is fast enough is not waited for', async () => {
  const { stream, output } = heldOutput();
  await writeAtPaceOfReader(output, 'abc');
  expect(stream.writableLength).toBe(3);
});
