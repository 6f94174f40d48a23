import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import type { CliIo } from '../../src/cli/io.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { systemRandom } from '../../src/runtime/random.ts';

export interface TestIo extends CliIo {
  /** Everything written so far. */
  readonly out: () => string;
  readonly err: () => string;
  /** The code that the process would end with. */
  readonly code: () => number;
  /** As if the shell had sent the signal. */
  readonly signal: (name: string) => void;
}

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** One of its own for each: what a test leaves there must not meet the next. Gone with the last test of the file. */
function emptyFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-cwd-'));
  folders.push(folder);
  return folder;
}

/** A process for a command to run in, in memory: only the given environment, real clock, real network, real files. */
export function cliIo(env: Record<string, string> = {}): TestIo {
  const written = { out: '', err: '' };
  const listeners = new Set<(signal: string) => void>();
  let code = 0;
  const collector = (name: 'out' | 'err') => ({
    write(text: string): boolean {
      written[name] += text;
      return true;
    },
  });
  return {
    env,
    stdout: collector('out'),
    stderr: collector('err'),
    isTerminal: false,
    clock: systemClock,
    random: systemRandom,
    cacheDir: join(tmpdir(), 'tidemark-test-cache'),
    cwd: emptyFolder(),
    entry: [process.execPath, 'bin/tidemark.js'],
    version: '0.0.0-test',
    fetch,
    readFile: (path) => readFileSync(path, 'utf8'),
    onSignal: (callback) => {
      listeners.add(callback);
      return () => listeners.delete(callback);
    },
    onCrash: () => () => {},
    exit: (next) => {
      if (code === 0) code = next;
    },
    out: () => written.out,
    err: () => written.err,
    code: () => code,
    signal: (name) => {
      for (const listener of listeners) listener(name);
    },
  };
}
