import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { exitCodes } from './cli/cli-error.ts';
import type { CliIo } from './cli/io.ts';
import { runProgram } from './cli/program.ts';
import { reportError } from './cli/report-error.ts';
import { systemClock } from './runtime/clock.ts';
import { systemRandom } from './runtime/random.ts';

// The one place that knows the process: arguments, environment, streams, signals, exit code.
const signalNumbers = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 } as const;
const signalListeners = new Set<(signal: string) => void>();
const crashListeners = new Set<(error: unknown) => void>();
let signalled = false;
let exitCode: number = exitCodes.ok;

const io: CliIo = {
  env: process.env,
  stdout: process.stdout,
  stderr: process.stderr,
  isTerminal: process.stdout.isTTY === true,
  clock: systemClock,
  random: systemRandom,
  cacheDir: join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'tidemark'),
  cwd: process.cwd(),
  entry: [process.execPath, ...process.execArgv, process.argv[1] ?? ''],
  version: readVersion(),
  fetch,
  readFile: (path) => readFileSync(path, 'utf8'),
  onSignal: (callback) => subscribe(signalListeners, callback),
  onCrash: (callback) => subscribe(crashListeners, callback),
  exit: (code) => {
    if (exitCode === exitCodes.ok) exitCode = code;
  },
};

function subscribe<T>(listeners: Set<T>, listener: T): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  return typeof manifest === 'object' && manifest !== null && 'version' in manifest ? String(manifest.version) : 'unknown';
}

for (const [signal, number] of Object.entries(signalNumbers)) {
  process.on(signal, () => {
    if (signalled || signalListeners.size === 0) process.exit(128 + number);
    signalled = true;
    for (const listener of signalListeners) listener(signal);
  });
}

/** After an error that nobody caught, nothing is known of the state in memory: a crash is safe by design, going on is not. */
function crash(error: unknown): void {
  for (const listener of crashListeners) listener(error);
  reportError(io, error);
  process.exit(exitCodes.software);
}
process.on('uncaughtException', crash);
process.on('unhandledRejection', crash);

// `tail | head` closes our stdout: that is the reader's way to say that it has had enough.
process.stdout.on('error', (error: NodeJS.ErrnoException) =>
  process.exit(error.code === 'EPIPE' ? exitCodes.ok : exitCodes.failed),
);
process.stderr.on('error', () => {});

await runProgram(io, process.argv.slice(2));
// Pipes are written asynchronously: the exit waits until the last line is out. A handle that a library forgot does not hold us.
process.stdout.write('', () => process.stderr.write('', () => process.exit(exitCode)));
