import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { Colours } from '../../../src/cli/io/colours.ts';
import type { CliIo } from '../../../src/cli/io/io.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { systemRandom } from '../../../src/runtime/random.ts';

interface TestIo extends CliIo {
  /** Everything written so far. */
  readonly out: () => string;
  readonly err: () => string;
  /** The code that the process would end with. */
  readonly code: () => number;
  /** As if the shell had sent the signal. */
  readonly signal: (name: string) => void;
}

const folders: string[] = [];
process.once('exit', () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/**
 * Each caller gets one of its own: files that one test leaves must not
 * meet the next. It goes with the process.
 */
function emptyFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-cwd-'));
  folders.push(folder);
  return folder;
}

/**
 * A process for a command to run in, in memory: only the given
 * environment, real clock, real network, real files.
 */
export function cliIo(env: Record<string, string> = {}): TestIo {
  const written = { out: '', err: '' };
  const listeners = new Set<(signal: string) => void>();
  let code = 0;
  let cwd: string | undefined;
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
    pipe: { input: new PassThrough(), output: new PassThrough() },
    isTerminal: false,
    colours: new Colours({ env, stdout: false, stderr: false }),
    columns: undefined,
    clock: systemClock,
    random: systemRandom,
    cacheDir: join(tmpdir(), 'tidemark-test-cache'),
    get cwd() {
      cwd ??= emptyFolder();
      return cwd;
    },
    entry: [process.execPath, join(import.meta.dirname, '../../../bin/tidemark.js')],
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
