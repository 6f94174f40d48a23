import type { TextOutput } from '../io.ts';

const width = 30;

/** One line of a terminal that is written over itself, at most ten times a second. `part`: 0 to 1. */
export class ProgressBar {
  private shownMs = Number.NEGATIVE_INFINITY;
  private readonly out: TextOutput;
  private readonly nowMs: () => number;

  constructor(deps: { readonly out: TextOutput; readonly nowMs: () => number }) {
    this.out = deps.out;
    this.nowMs = deps.nowMs;
  }

  show(part: number, words: string): void {
    const nowMs = this.nowMs();
    if (nowMs - this.shownMs < 100 && part < 1) return;
    this.shownMs = nowMs;
    const full = Math.round(Math.min(1, Math.max(0, part)) * width);
    this.out.write(
      `\r[${'#'.repeat(full)}${'.'.repeat(width - full)}] ${String(Math.floor(part * 100)).padStart(3)} %  ${words}\u001b[K`,
    );
  }

  /** Leaves the line as it is. */
  end(): void {
    if (this.shownMs !== Number.NEGATIVE_INFINITY) this.out.write('\n');
  }
}
