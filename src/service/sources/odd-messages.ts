const keptEveryMs = 3_600_000;
const mostKinds = 100;

/**
 * Messages that bring no order, of a kind that we do not know: a keep-alive by another name, say.
 * One of each kind is kept aside in an hour, of at most a hundred kinds: each keep-alive of a
 * thousand connections would be a dead letter. All are counted.
 */
export class OddMessages {
  /** By kind: until when (monotonic) no other one is kept. The map keeps the order of the times. */
  private readonly until = new Map<string, number>();

  /** True: this one is to be kept. `kind`: a short text. */
  isDue(kind: string, nowMs: number): boolean {
    for (const [old, untilMs] of this.until) {
      if (untilMs > nowMs) break;
      this.until.delete(old);
    }
    if (this.until.has(kind) || this.until.size >= mostKinds) return false;
    this.until.set(kind, nowMs + keptEveryMs);
    return true;
  }
}
