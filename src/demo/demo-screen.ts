import { clip } from '../cli/io/format-text.ts';
import type { CliIo } from '../cli/io/io.ts';
import { ProgressBar } from '../cli/io/progress-bar.ts';

/**
 * The output of the demo. On a terminal its last line is written anew in place, and the lines above
 * stay readable; anywhere else there are lines alone.
 */
export class DemoScreen {
  readonly hasStatus: boolean;
  readonly output: 'stdout' | 'stderr';
  private readonly bar: ProgressBar;
  private readonly io: CliIo;

  constructor(io: CliIo, output: 'stdout' | 'stderr') {
    this.io = io;
    this.output = output;
    this.hasStatus = io.isTerminal && output === 'stdout';
    this.bar = new ProgressBar(io, io.stdout);
  }

  say(line: string): void {
    this.io[this.output].write(`${this.hasStatus ? '\r\u001b[K' : ''}${line}\n`);
  }

  /** The line in place, cut at the width of the terminal: a longer one could not be overwritten. */
  show(words: string, part?: number): void {
    const room = (this.io.columns ?? 80) - (part === undefined ? 1 : 41);
    if (this.hasStatus) this.bar.show(part, clip(words, Math.max(1, room)));
  }
}
