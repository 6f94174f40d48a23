import type { Readable, Writable } from 'node:stream';
import type { Clock } from '../../runtime/clock.ts';
import type { Random } from '../../runtime/random.ts';
import type { Colours } from './colours.ts';

export interface TextOutput {
  /** False when the reader is slower than we are. */
  write(text: string): boolean;
  /** Until the reader has caught up. Left out where each text is taken at once. */
  drained?(signal?: AbortSignal): Promise<void>;
}

/**
 * For a command without an end of its own: it writes no faster than its reader reads, who may be a
 * pager.
 */
export async function writeAtPaceOfReader(out: TextOutput, text: string, signal?: AbortSignal): Promise<void> {
  if (!out.write(text)) await out.drained?.(signal);
}

export function printJson(io: Pick<CliIo, 'stdout'>, value: unknown, indent?: number): void {
  io.stdout.write(`${JSON.stringify(value, undefined, indent)}\n`);
}

/** As JSON where that was asked for, or as text for people. */
export function printResult(
  io: Pick<CliIo, 'stdout'>,
  { json }: { readonly json?: boolean | undefined },
  value: unknown,
  text: string,
  indent?: number,
): void {
  if (json) printJson(io, value, indent);
  else io.stdout.write(text);
}

/** Aborts with `reason` when the process is asked to end. Disposing it stops listening. */
export function abortOnSignal(io: Pick<CliIo, 'onSignal'>, reason?: unknown) {
  const asked = new AbortController();
  const unsubscribe = io.onSignal(() => asked.abort(reason));
  return { signal: asked.signal, [Symbol.dispose]: unsubscribe };
}

/**
 * Those parts of its process that a command may use. `main.ts` makes the real one; tests make their
 * own.
 */
export interface CliIo {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Results, and nothing else: a script can read it. */
  readonly stdout: TextOutput;
  /** Everything else for people to read: progress, warnings, errors. */
  readonly stderr: TextOutput;
  /**
   * stdin and stdout as streams, for a protocol. Made on first use: an open stdin keeps the process
   * alive.
   */
  readonly pipe: { readonly input: Readable; readonly output: Writable };
  /** True when a person reads stdout: pretty logs, progress bars. */
  readonly isTerminal: boolean;
  readonly colours: Colours;
  /** Width of the terminal behind stdout at this moment; undefined without one. */
  readonly columns: number | undefined;
  readonly clock: Clock;
  readonly random: Random;
  /** Absolute. For files that take long to make and are safe to lose; made on first use. */
  readonly cacheDir: string;
  readonly cwd: string;
  /**
   * The start of the argv to run this program again as a child: the Node in use, its flags, and the
   * script.
   */
  readonly entry: readonly string[];
  readonly version: string;
  readonly fetch: typeof fetch;
  /** The whole file as UTF-8. Throws as `node:fs` does. */
  readFile(path: string): string;
  /**
   * Calls back for the first INT, TERM or HUP. The second ends the process at once, and without a
   * listener the first does. Returns a function to unsubscribe.
   */
  onSignal(callback: (signal: string) => void): () => void;
  /**
   * Calls back with an uncaught error, just before the process
   * ends with 70: the last chance to log it.
   */
  onCrash(callback: (error: unknown) => void): () => void;
  /**
   * The process ends with this code once the command has returned. The first code other than 0
   * stays.
   */
  exit(code: number): void;
}
