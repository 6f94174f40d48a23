import type { CliIo, TextOutput } from './io.ts';

const width = 30;

/** One line of a terminal. It overwrites itself, at most ten times a second. Silent elsewhere. */
export class ProgressBar {
  private shownMs = Number.NEGATIVE_INFINITY;
  private readonly io: Pick<CliIo, 'clock' | 'isTerminal' | 'stderr'>;
  private readonly out: TextOutput;

  constructor(io: Pick<CliIo, 'clock' | 'isTerminal' | 'stderr'>, out = io.stderr) {
    this.io = io;
    this.out = out;
  }

  /** `part`: 0 to 1; undefined: the total is not known. */
  show(part: number | undefined, words: string): void {
    const nowMs = this.io.clock.monotonicMs();
    if (!this.io.isTerminal) return;
    if (nowMs - this.shownMs < 100 && (part === undefined || part < 1)) return;
    this.shownMs = nowMs;
    if (part === undefined) {
      this.out.write(`\r${words}\u001b[K`);
      return;
    }
    const full = Math.round(Math.min(1, Math.max(0, part)) * width);
    this.out.write(
      `\r[${'#'.repeat(full)}${'.'.repeat(width - full)}] ${String(Math.floor(part * 100)).padStart(3)} %  ${words}\u001b[K`,
    );
  }

  /** Leaves the line as it is; the next call to `show` begins a new one. */
  end(): void {
    if (this.shownMs !== Number.NEGATIVE_INFINITY) this.out.write('\n');
    this.shownMs = Number.NEGATIVE_INFINITY;
  }
}
