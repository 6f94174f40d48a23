import { exitCodes, ProgramError } from '../../runtime/program-error.ts';
import { abortOnSignal, type CliIo } from '../io/io.ts';
import { ProgressBar } from '../io/progress-bar.ts';

const lookEveryMs = 500;

/**
 * Looks at the service's work until it is over, `seconds` have passed, or the user interrupts, and
 * returns the newest state. The work goes on without this program. An instance silent for a moment
 * is asked again.
 */
export async function follow<T>(
  io: CliIo,
  first: T,
  {
    read,
    isOver,
    progress,
    seconds,
  }: {
    readonly read: (newest: T) => Promise<T>;
    readonly isOver: (state: T) => boolean;
    /** A line for a terminal; `part` is 0 to 1, or undefined without a known total. */
    readonly progress?: (state: T, waitedMs: number) => { readonly part?: number; readonly words: string };
    readonly seconds: number;
  },
): Promise<T> {
  const bar = new ProgressBar(io);
  using interrupted = abortOnSignal(io);
  const beganMs = io.clock.monotonicMs();
  let state = first;
  try {
    for (;;) {
      const waitedMs = io.clock.monotonicMs() - beganMs;
      const shown = progress?.(state, waitedMs);
      if (shown !== undefined) bar.show(shown.part, shown.words);
      if (isOver(state) || interrupted.signal.aborted || waitedMs >= seconds * 1_000) return state;
      await io.clock.sleep(lookEveryMs, interrupted.signal);
      const newest = state;
      state = await read(newest).catch((error: unknown) => {
        if (error instanceof ProgramError && error.exitCode === exitCodes.unavailable) return newest;
        throw error;
      });
    }
  } finally {
    bar.end();
  }
}

/** For a request not answered in time. */
export const stillAsked = 'no process that follows the account has read it yet; it stays asked for';

/** The exit code of work asked from a process: 1 if a part failed, 75 if one is open. */
export function endAs(io: CliIo, results: readonly { readonly result: string }[]): void {
  if (results.some(({ result }) => result === 'failed')) io.exit(exitCodes.failed);
  else if (results.some(({ result }) => result !== 'done')) io.exit(exitCodes.unresolved);
}
