import type { CliIo } from '../cli/io/io.ts';
import { ProgressBar } from '../cli/io/progress-bar.ts';

interface ScreenOptions {
  readonly output: 'stdout' | 'stderr';
}

/**
 * Where the demo writes. On a terminal its last line stays in place and is written anew, so that
 * the lines above it can be read; anywhere else there are lines alone.
 */
export class DemoScreen {
  readonly hasStatus: boolean;
  private readonly bar: ProgressBar;
  private readonly io: CliIo;
  private readonly options: ScreenOptions;

  constructor(io: CliIo, options: ScreenOptions) {
    this.io = io;
    this.options = options;
    this.hasStatus = io.isTerminal && options.output === 'stdout';
    this.bar = new ProgressBar({ out: io.stdout, nowMs: () => io.clock.monotonicMs() });
  }

  say(line: string): void {
    this.io[this.options.output].write(`${this.hasStatus ? '\r\u001b[K' : ''}${line}\n`);
  }

  /** The line in place, cut at the width of the terminal: a longer one could not be overwritten. */
  show(words: string, part?: number): void {
    const room = (this.io.columns ?? 80) - (part === undefined ? 1 : 41);
    if (this.hasStatus) this.bar.show(part, words.slice(0, Math.max(0, room)));
  }
}
