/**
 * A histogram's observations, counted up to each bound in ascending order; the last bound is
 * infinite and has them all.
 */
export type BucketCounts = readonly (readonly [boundSeconds: number, count: number])[];

/**
 * The observations' quantile (0 to 1) in seconds, as Prometheus' `histogram_quantile` finds it:
 * linear within its bucket. Undefined: there are none. One above the last finite bound is that
 * bound.
 */
export function bucketQuantile(quantile: number, counts: BucketCounts): number | undefined {
  const total = counts.at(-1)?.[1] ?? 0;
  if (total <= 0) return undefined;
  const rank = quantile * total;
  let [lowerBound, below] = [0, 0];
  for (const [bound, count] of counts) {
    if (count >= rank && count > below) {
      return Number.isFinite(bound)
        ? lowerBound + ((bound - lowerBound) * (rank - below)) / (count - below)
        : lowerBound;
    }
    [lowerBound, below] = [Number.isFinite(bound) ? bound : lowerBound, count];
  }
  return lowerBound;
}

/** The observations between two readings of one histogram. */
export function countsSince(now: BucketCounts, before: BucketCounts): BucketCounts {
  return now.map(([bound, count], index) => [bound, count - (before[index]?.[1] ?? 0)]);
}
