import { bucketQuantile } from '../src/observability/read-metric.ts';
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

/** Undefined when nothing was observed. */
export function quantile(buckets: Buckets, q: number): Quantile | undefined {
  const value = bucketQuantile(q, buckets);
  if (value === undefined) return undefined;
  const rank = q * (buckets.at(-1)?.[1] ?? 0);
  const at = buckets.findIndex(([, count], i) => count >= rank && count > (buckets[i - 1]?.[1] ?? 0));
  return { value, above: buckets[at - 1]?.[0] ?? 0, atMost: buckets[at]?.[0] ?? Number.POSITIVE_INFINITY };
}
