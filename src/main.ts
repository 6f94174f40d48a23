import { readFileSync, writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { Colours } from './cli/io/colours.ts';
import type { CliIo, TextOutput } from './cli/io/io.ts';
import { FileOutput, PipeOutput } from './cli/io/outputs.ts';
import { errorName, runProgram } from './cli/program.ts';
import { SignalGate, type SignalWay } from './cli/signal-gate.ts';
import { cacheFolder } from './runtime/cache-folder.ts';
import { systemClock } from './runtime/clock.ts';
import { packageFile } from './runtime/package-file.ts';
import { exitCodes, ProgramError, reportError, sentenceOf } from './runtime/program-error.ts';
import { systemRandom } from './runtime/random.ts';

// The one place that knows the process: arguments, environment, streams, signals, exit code.
const isService = process.argv[2] === 'serve';
const signals = new SignalGate();
const crashListeners = new Set<(error: unknown) => void>();
let exitCode: number = exitCodes.ok;

const io: CliIo = {
  env: process.env,
  stdout: output(),
  stderr: process.stderr,
  get pipe() {
    return { input: process.stdin, output: process.stdout };
  },
  isTerminal: process.stdout.isTTY === true,
  colours: new Colours({
    env: process.env,
    stdout: process.stdout.isTTY === true,
    stderr: process.stderr.isTTY === true,
  }),
  get columns() {
    return process.stdout.isTTY ? process.stdout.columns : undefined;
  },
  clock: systemClock,
  random: systemRandom,
  // Asked for by few commands, and not to be had everywhere: without a home
  // folder, or in a folder that was removed.
  get cacheDir() {
    return cacheFolder(process.env);
  },
  get cwd() {
    return process.cwd();
  },
  entry: [process.execPath, ...process.execArgv, process.argv[1] ?? ''],
  version: readVersion(),
  fetch,
  readFile: (path) => readFileSync(path, 'utf8'),
  onSignal: (callback) => signals.listen(callback),
  onCrash: (callback) => {
    crashListeners.add(callback);
    return () => crashListeners.delete(callback);
  },
  exit: (code) => {
    if (exitCode === exitCodes.ok) exitCode = code;
  },
};

function readVersion(): string {
  const manifest: { readonly version: string } = JSON.parse(readFileSync(packageFile('package.json'), 'utf8'));
  return manifest.version;
}

/** A command's output may not lack a part without a word. The log of a service may. */
function output(): TextOutput {
  if (process.stdout instanceof Socket) return new PipeOutput(process.stdout, isService ? sayStalled : undefined);
  return new FileOutput((bytes) => writeSync(1, bytes), isService ? goOnWithoutLog : endWithoutOutput);
}

function sayStalled(leftOut: number | undefined): void {
  const what =
    leftOut === undefined
      ? 'the reader of the log takes no more lines; the service goes on without them'
      : `the reader of the log takes lines again; left out: ${leftOut}`;
  process.stderr.write(`tidemark: ${what}\n`);
}

function goOnWithoutLog(error: unknown): void {
  process.stderr.write(`tidemark: the log can't be written (${sentenceOf(error)}); the service goes on\n`);
}

/** On a full disk, for one. */
function endWithoutOutput(error: unknown): never {
  const fault = new ProgramError(`the output can't be written: ${sentenceOf(error)}`, { code: 'OUTPUT', cause: error });
  process.exit(reportError(io, fault, errorName(io)));
}

const askingSignals = ['SIGHUP', 'SIGINT', 'SIGTERM'] as const;
type AskingSignal = (typeof askingSignals)[number];

function asked(signal: AskingSignal, way: SignalWay): void {
  const code = signals.receive(signal, way);
  if (code !== undefined) process.exit(code);
}
for (const signal of askingSignals) process.on(signal, () => asked(signal, 'system'));
// Only a launcher has a channel to us (bin/tidemark.js). It does not keep the process alive.
process.on('message', ({ signal }: { readonly signal: AskingSignal }) => asked(signal, 'launcher'));
// Without its launcher no signal reaches it: the end of the channel asks as a hang-up does, unless
// it is ending already. It may be closed before this line is reached.
const orphaned = () => signals.isAsked || asked('SIGHUP', 'launcher');
if (process.connected === false) orphaned();
process.on('disconnect', orphaned);
process.channel?.unref();

/**
 * After an uncaught error the state in memory is unknown: a
 * crash is safe by design, going on is not.
 */
function crash(error: unknown): void {
  for (const listener of crashListeners) listener(error);
  reportError(io, error, errorName(io));
  process.exit(exitCodes.software);
}
process.on('uncaughtException', crash);
process.on('unhandledRejection', crash);

// `tail | head` closes our stdout once `head` has enough lines. A command that listens for signals
// is then asked once to end in order.
let readerGone = false;
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') endWithoutOutput(error);
  if (readerGone) return;
  readerGone = true;
  if (signals.receive('SIGPIPE') !== undefined) process.exit(exitCode);
});
process.stderr.on('error', () => {});

/**
 * A pager reads the end of a long output as late as it likes. What was asked to end, and a service,
 * wait this long for a reader that has stalled.
 */
const lastLinesMs = 2_000;

await runProgram(io, process.argv.slice(2));
if (signals.isAsked || isService) setTimeout(() => process.exit(exitCode), lastLinesMs);
// Not every system writes to a pipe synchronously, so the exit waits until the last line is out. A
// handle that a library left open does not delay it.
process.stdout.write('', () => process.stderr.write('', () => process.exit(exitCode)));
