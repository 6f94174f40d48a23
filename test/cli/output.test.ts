import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { Writable } from 'node:stream';
import { describe, expect, it, onTestFinished } from 'vitest';
import { writeAtPaceOfReader } from '../../src/cli/io/io.ts';
import { FileOutput, PipeOutput } from '../../src/cli/io/outputs.ts';
import { freePort } from '../../src/demo/devstack/free-port.ts';
import { eventually } from '../support/runs/poll.ts';

describe('issue: An export on a full disk ended with 0 and half its lines; a service ended without a word.', () => {
  const entry = 'bin/tidemark.js';
  /** Takes no byte: ENOSPC. */
  const full = () => openSync('/dev/full', 'w');

  describe('a disk that is full', () => {
    it('ends a command with 1 and a sentence, not with 0', () => {
      const run = spawnSync(process.execPath, [entry, 'config', 'docs'], {
        stdio: ['ignore', full(), 'pipe'],
        encoding: 'utf8',
        timeout: 60_000,
      });
      expect([run.status, run.stderr]).toEqual([
        1,
        expect.stringMatching(/^tidemark: the output can't be written: the disk is full: ENOSPC/),
      ]);
    });

    it('does not end a service, which says so once', async () => {
      const port = await freePort();
      const nowhere = { PLATFORM_URL: 'http://127.0.0.1:1', PLATFORM_STREAM_URL: 'ws://127.0.0.1:1' };
      const service = spawn(process.execPath, [entry, 'serve'], {
        stdio: ['ignore', full(), 'pipe'],
        env: {
          ...{ PATH: process.env['PATH'], HOME: process.env['HOME'], ...nowhere },
          ...{ DATABASE_URL: 'postgres://u@127.0.0.1:1/d', KAFKA_BROKERS: '127.0.0.1:1' },
          ...{ PLATFORM_CLIENT_ID: 'id', PLATFORM_CLIENT_SECRET: 'hush' },
          ...{ TIDEMARK_ADMIN_PORT: String(port), TIDEMARK_HTTP_PORT: '0' },
        },
      });
      onTestFinished(() => void service.kill('SIGKILL'));
      let said = '';
      service.stderr?.on('data', (bytes) => (said += bytes));
      const alive = async () => expect((await fetch(`http://127.0.0.1:${port}/livez`)).status).toBe(200);
      await eventually(alive, { deadlineMs: 40_000 });
      expect(service.exitCode).toBe(null);
      service.kill('SIGTERM');
      expect(await once(service, 'exit')).toEqual([0, null]);
      expect(said).toMatch(/^tidemark: the log can't be written \(the disk is full.*\); the service goes on\n$/);
    });
  });

  /**
   * A file that takes `room` bytes, and more once there is room again; a part of a write, where not
   * all of it fits.
   */
  function file(room: number) {
    const state = { room, text: '', faults: 0 };
    const output = new FileOutput(
      (bytes) => {
        const taken = Math.min(state.room, bytes.length, 7);
        if (taken === 0) throw Object.assign(new Error('no space left'), { code: 'ENOSPC' });
        state.text += Buffer.from(bytes.subarray(0, taken)).toString();
        state.room -= taken;
        return taken;
      },
      () => {
        state.faults += 1;
      },
    );
    return { state, output };
  }

  describe('a text in pieces', () => {
    it('is whole, however little each write takes', () => {
      const { state, output } = file(1_000);
      output.write('a line of more than seven bytes\n');
      expect(state).toMatchObject({ text: 'a line of more than seven bytes\n', faults: 0 });
    });

    it('that was cut ends its line before the next one, and each time without room is told once', () => {
      const { state, output } = file(20);
      for (const line of ['one\n', 'two and more than fits\n', 'three\n']) output.write(line);
      expect(state).toMatchObject({ text: 'one\ntwo and more tha', faults: 1 });
      state.room = 100;
      output.write('four\n');
      state.room = 0;
      output.write('five\n');
      output.write('six\n');
      state.room = 100;
      output.write('seven\n');
      expect(state).toMatchObject({ text: 'one\ntwo and more tha\nfour\nseven\n', faults: 2 });
    });
  });
});

describe('issue: The reader of the log hung, and the service took more memory until it was killed.', () => {
  /** Writes 64 MiB as a service does, to a pipe that nobody reads; one more line once asked. */
  const service = `
  import { PipeOutput } from './src/cli/io/outputs.ts';
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
});
