const windowMs = 5_000;

/**
 * Updates a second over the last seconds, from a count that only rises. Keeps at most one sample
 * for each call within the window.
 */
export class UpdateRate {
  private samples: { readonly atMs: number; readonly count: number }[] = [];

  /** Undefined until there is a second to measure by. */
  sample(atMs: number, count: number): number | undefined {
    this.samples.push({ atMs, count });
    this.samples = this.samples.filter((sample) => sample.atMs >= atMs - windowMs);
    const first = this.samples[0];
    if (first === undefined || atMs - first.atMs < 900) return undefined;
    return ((count - first.count) * 1000) / (atMs - first.atMs);
  }
}
