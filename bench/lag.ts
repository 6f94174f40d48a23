/** What stood between the platform and Kafka at one moment. */
export interface LagSample {
  /** Monotonic. */
  readonly atMs: number;
  /** Updates that the platform had emitted and Kafka had not acknowledged. */
  readonly lag: number;
}

export interface LagVerdict {
  readonly bounded: boolean;
  /**
   * Updates a second by which the lag rose from the first third of
   * the time to the last. Negative: it fell.
   */
  readonly growthPerSecond: number;
  readonly highest: number;
  readonly median: number;
}

/** A second of the rate may wait: more is a backlog, not a batch on its way. */
const longestLagSeconds = 1;
/**
 * A rise of less than this share of the rate is noise of thirds that are 20 s long; a rate that is
 * too high by 5 % shows as 5 %.
 */
const noiseShare = 0.005;

/**
 * Whether a rate can be kept up for ever: the lag neither grows nor is larger than a
 * second of it. Thirds are compared by their medians, so that one checkpoint or
 * collection neither makes nor hides a trend.
 */
export function judgeLag(samples: readonly LagSample[], ratePerSecond: number): LagVerdict {
  const third = Math.max(1, Math.floor(samples.length / 3));
  const [first, last] = [samples.slice(0, third), samples.slice(-third)];
  const seconds = (middle(last, 'atMs') - middle(first, 'atMs')) / 1000;
  const growthPerSecond = seconds > 0 ? (middle(last, 'lag') - middle(first, 'lag')) / seconds : 0;
  const median = middle(samples, 'lag');
  const highest = Math.max(0, ...samples.map(({ lag }) => lag));
  const bounded = growthPerSecond <= ratePerSecond * noiseShare && median <= ratePerSecond * longestLagSeconds;
  return { bounded, growthPerSecond, highest, median };
}

function middle(samples: readonly LagSample[], field: keyof LagSample): number {
  const values = samples.map((sample) => sample[field]).sort((a, b) => a - b);
  return values[values.length >> 1] ?? 0;
}
