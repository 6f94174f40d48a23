import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { GuardedProcess } from '../../../src/demo/devstack/guarded-process.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { atEnd } from '../commands/at-end.ts';
import { neutralEnv } from './neutral-env.ts';
import { eventually } from './poll.ts';

const root = join(import.meta.dirname, '../../..');
export const tidemarkEntry = join(root, 'bin/tidemark.js');

/** A line of the process's log. */
export interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly [field: string]: unknown;
}

/**
 * `tidemark …` as a process of its own, as an operator runs it: signals
 * reach it, and nothing of the test is in it.
 */
export class TidemarkProcess {
  /** Everything that it wrote, on either output. */
  readonly lines: readonly string[];
  readonly pid: number;
  /** Resolves with the exit code (128 + n after signal n). */
  readonly exited: Promise<number>;
  private ended = false;

  private constructor(guarded: GuardedProcess, lines: string[]) {
    this.lines = lines;
    this.pid = guarded.pid;
    this.exited = guarded.exited;
    void this.exited.then(() => {
      this.ended = true;
    });
  }

  /**
   * Starts it, from this checkout unless `entry` is that of another build. It ends with the test
   * (or its file), or with the process of the test when that is killed.
   */
  static async start(
    args: readonly string[],
    env: Readonly<Record<string, string>>,
    entry: string = tidemarkEntry,
  ): Promise<TidemarkProcess> {
    const lines: string[] = [];
    const guarded = await GuardedProcess.start(
      { clock: systemClock },
      {
        command: [entry, ...args],
        name: `tidemark ${args[0]}`,
        folder: await mkdtemp(join(tmpdir(), 'tidemark-e2e-')),
        stopSignal: 'KILL',
        patienceMs: 20_000,
        // By its first line, as npx starts it, on the Node that runs the tests.
        env: {
          ...neutralEnv(),
          PATH: `${dirname(process.execPath)}:${process.env['PATH']}`,
          ...compileCache(entry),
          ...env,
        },
        onLine: (line) => lines.push(line),
      },
    );
    atEnd(() => guarded.stop());
    return new TidemarkProcess(guarded, lines);
  }

  get running(): boolean {
    return !this.ended;
  }

  signal(signal: NodeJS.Signals): void {
    if (!this.ended) process.kill(this.pid, signal);
  }

  /** As `kill -9`: resolves when the process is gone. */
  async kill9(): Promise<void> {
    this.signal('SIGKILL');
    await this.exited;
  }

  /** The JSON lines of its log so far. */
  log(): LogLine[] {
    return this.lines.flatMap((line) => {
      const parsed = line.startsWith('{') ? tryParse(line) : undefined;
      return parsed === undefined ? [] : [parsed];
    });
  }

  /**
   * The first line of its log that `wanted` takes, as soon as it is there. Rejects, with what it
   * last said, when the process ends first.
   */
  awaitLog(what: string, wanted: (line: LogLine) => boolean, deadlineMs = 120_000): Promise<LogLine> {
    let ended = false;
    return eventually(
      () => {
        const found = this.log().find(wanted);
        if (found !== undefined) return found;
        // Looked at after the process was seen to be gone: its last line counts.
        if (ended) throw new GoneError(`it ended without: ${what}\n${this.tail()}`);
        ended = this.ended;
        throw new Error(`its log has no line yet: ${what}\n${this.tail()}`);
      },
      { deadlineMs, everyMs: 25, giveUp: (error) => error instanceof GoneError },
    );
  }

  tail(): string {
    return this.lines.slice(-25).join('\n');
  }
}

class GoneError extends Error {}

/**
 * What Node compiled of a build in a temporary folder would stay in
 * the user's cache when that folder is gone.
 */
function compileCache(entry: string): Record<string, string> {
  return entry === tidemarkEntry ? {} : { NODE_DISABLE_COMPILE_CACHE: '1' };
}

function tryParse(line: string): LogLine | undefined {
  try {
    return JSON.parse(line) as LogLine;
  } catch {
    return undefined;
  }
}
