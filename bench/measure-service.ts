import { systemClock } from '../src/runtime/clock.ts';
import type { LagVerdict } from './lag.ts';
import { searchRate } from './search-rate.ts';
import { type LoadFigures, untilCaughtUp, type Watched, watchLoad } from './watch-load.ts';

export interface ProbeFigures {
  readonly rate: number;
  readonly seconds: number;
  readonly publishedPerSecond: number;
  readonly bounded: boolean;
  readonly lag: LagVerdict;
  readonly elsewherePercent: number;
}

export interface CapacityFigures {
  /**
   * Updates a second from socket to acknowledgement with as much load as the sockets took: the
   * first guess, and no capacity.
   */
  readonly unpacedPerSecond: number;
  /** The rates tried, each for `probeSeconds`. */
  readonly probes: readonly ProbeFigures[];
  /**
   * The highest rate that was kept up, with what it took. Absent when none was:
   * the machine is busy with something else.
   */
  readonly sustained?: LoadFigures;
}

export interface CapacityOptions {
  /** How long the rate has to be kept up. */
  readonly seconds: number;
  readonly probeSeconds: number;
}

const warmUpMs = 3_000;
/** Paced load costs more than unpaced: batches are smaller when nothing waits. */
const firstShare = 0.9;
const downBy = 0.93;
const maxSustainTries = 6;

/**
 * The highest rate with a lag that is bounded and does not grow: found with short probes from the
 * unpaced rate down, then kept up for the whole time, and lowered again where that fails.
 */
export async function measureCapacity(
  watched: Watched,
  { seconds, probeSeconds }: CapacityOptions,
): Promise<CapacityFigures> {
  const unpaced = await loadAt(watched, 'max', probeSeconds);
  await settle(watched);
  const probe = async (rate: number, forSeconds: number) => {
    const figures = await loadAt(watched, rate, forSeconds);
    await settle(watched);
    return { rate, bounded: isSustained(rate, figures), figures };
  };
  const short = { startRate: unpaced.publishedPerSecond * firstShare, factor: downBy, maxProbes: 10 };
  const quick = await searchRate(short, (rate) => probe(rate, probeSeconds));
  const long = {
    startRate: quick.found?.rate ?? 0,
    factor: downBy,
    maxProbes: quick.found === undefined ? 0 : maxSustainTries,
  };
  const sustained = await searchRate(long, (rate) => probe(rate, seconds));
  return {
    unpacedPerSecond: unpaced.publishedPerSecond,
    probes: [...quick.probes, ...sustained.probes].map(({ rate, bounded, figures }) => {
      const { seconds: forSeconds, publishedPerSecond, lag, elsewherePercent } = figures;
      return { rate, seconds: forSeconds, publishedPerSecond, bounded, lag, elsewherePercent };
    }),
    ...(sustained.found === undefined ? {} : { sustained: sustained.found.figures }),
  };
}

/** A rate that the load did not reach is no rate that was kept up, however small the lag. */
function isSustained(rate: number, figures: LoadFigures): boolean {
  return figures.lag.bounded && figures.publishedPerSecond >= rate * 0.98;
}

/** The rate, and the figures once it has run for a moment. Leaves it running. */
export async function loadAt(watched: Watched, rate: number | 'max', seconds: number): Promise<LoadFigures> {
  await watched.sandbox.setRate(rate);
  await systemClock.sleep(warmUpMs);
  return (await watchLoad(watched, { seconds, sampleEveryMs: 500 })).figures;
}

/** No load, and nothing left of the one before. */
export async function settle(watched: Watched): Promise<void> {
  await watched.sandbox.setRate(0);
  await untilCaughtUp(watched);
}
