import { sentenceOf } from '../runtime/program-error.ts';
import { abortOnSignal, type CliIo, writeAtPaceOfReader } from './io/io.ts';

const watchEveryMs = 2000;
/** Moves to a terminal's first line and clears it. */
const clearScreen = '\u001b[H\u001b[2J';

interface Shown {
  readonly text: string;
  readonly isWell: boolean;
}

/**
 * Shows it every two seconds until a signal, and returns the last verdict. An error from `read` is
 * shown in its place, and it is asked again.
 */
export async function watch(io: CliIo, read: () => Promise<Shown>): Promise<boolean> {
  using interrupted = abortOnSignal(io);
  let last = false;
  while (!interrupted.signal.aborted) {
    const shown = await read().catch((error: unknown) => ({ text: `${sentenceOf(error)}\n`, isWell: false }));
    last = shown.isWell;
    const text = io.isTerminal ? `${clearScreen}${shown.text}` : `${shown.text}\n`;
    await writeAtPaceOfReader(io.stdout, text, interrupted.signal);
    await io.clock.sleep(watchEveryMs, interrupted.signal);
  }
  return last;
}
