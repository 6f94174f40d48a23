import type { Sample } from './prometheus-text.ts';

/**
 * Counts by upper bound, ascending, cumulative as Prometheus has them; the last bound is Infinity.
 */
export type Buckets = readonly (readonly [upperBound: number, count: number])[];

/** The buckets of one histogram, summed over the series that have those labels. */
export function bucketsOf(
  samples: readonly Sample[],
  name: string,
  labels: Readonly<Record<string, string>> = {},
): Buckets {
  const wanted = Object.entries(labels);
  const counts = new Map<number, number>();
  for (const sample of samples) {
    if (sample.name !== `${name}_bucket` || !wanted.every(([key, value]) => sample.labels[key] === value)) continue;
    const bound = Number((sample.labels['le'] ?? '').replace('+Inf', 'Infinity'));
    counts.set(bound, (counts.get(bound) ?? 0) + sample.value);
  }
  return [...counts].sort(([a], [b]) => a - b);
}

/** What was observed between two scrapes of one process. */
export function bucketsBetween(before: Buckets, after: Buckets): Buckets {
  const earlier = new Map(before);
  return after.map(([bound, count]) => [bound, count - (earlier.get(bound) ?? 0)] as const);
}

export interface Quantile {
  /** Interpolated within its bucket, as `histogram_quantile` does. */
  readonly value: number;
  /** The bucket it lies in: the truth is between these two, whatever the interpolation says. */
  readonly above: number;
  readonly atMost: number;
}

/**
 * Undefined when nothing was observed. In the last bucket, which has no
 * upper bound, the value is its lower one.
 */
export function quantile(buckets: Buckets, q: number): Quantile | undefined {
  const total = buckets.at(-1)?.[1] ?? 0;
  if (total <= 0) return undefined;
  const rank = q * total;
  let above = 0;
  let below = 0;
  for (const [bound, count] of buckets) {
    if (count >= rank && count > below) {
      if (bound === Number.POSITIVE_INFINITY) return { value: above, above, atMost: bound };
      return { value: above + ((bound - above) * (rank - below)) / (count - below), above, atMost: bound };
    }
    above = bound;
    below = count;
  }
  return undefined;
}
