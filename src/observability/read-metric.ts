interface Series {
  readonly labels: object;
  readonly value: number;
  /** For a histogram: `…_bucket`, `…_sum` or `…_count`. */
  readonly metricName?: string;
}

interface Readable {
  get(): Promise<{ readonly values: readonly Series[] }>;
}

type Labels = Readonly<Record<string, string>>;

/**
 * A counter's or gauge's values, added up over the series with these labels. Only memory is read.
 */
export async function sumOfSeries(metric: Readable, labels: Labels = {}): Promise<number> {
  const { values } = await metric.get();
  return values.reduce((sum, series) => (has(series, labels) ? sum + series.value : sum), 0);
}

/** A histogram's buckets, added up over the series with these labels. */
export async function sumOfBuckets(histogram: Readable, labels: Labels): Promise<BucketCounts> {
  const { values } = await histogram.get();
  const counts = new Map<number, number>();
  for (const series of values) {
    if (!series.metricName?.endsWith('_bucket') || !has(series, labels)) continue;
    const { le } = series.labels as { readonly le: number | '+Inf' };
    const bound = le === '+Inf' ? Number.POSITIVE_INFINITY : le;
    counts.set(bound, (counts.get(bound) ?? 0) + series.value);
  }
  return [...counts].sort(([a], [b]) => a - b);
}

function has({ labels }: Series, wanted: Labels): boolean {
  const own = labels as Labels;
  return Object.entries(wanted).every(([name, value]) => own[name] === value);
}

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
