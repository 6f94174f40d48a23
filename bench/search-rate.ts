export interface RateProbe {
  /** The rate that was asked for. */
  readonly rate: number;
  readonly bounded: boolean;
}

export interface RateSearchOptions {
  /** The first rate tried; the search only goes down from there. */
  readonly startRate: number;
  /** Each further rate is this share of the one before, below 1. */
  readonly factor: number;
  readonly maxProbes: number;
}

/**
 * The highest of the rates `startRate`, `startRate × factor`, … that is bounded, found by going
 * down: a probe that fails leaves a backlog, which the next, slower one has to work off in its
 * warm-up, so the error is on the careful side. Undefined when none of `maxProbes` is.
 */
export async function searchRate<P extends RateProbe>(
  options: RateSearchOptions,
  probe: (rate: number) => Promise<P>,
): Promise<{ readonly found: P | undefined; readonly probes: readonly P[] }> {
  const probes: P[] = [];
  for (let rate = options.startRate; probes.length < options.maxProbes; rate *= options.factor) {
    const result = await probe(Math.round(rate));
    probes.push(result);
    if (result.bounded) return { found: result, probes };
  }
  return { found: undefined, probes };
}
