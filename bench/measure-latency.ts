import { systemClock } from '../src/runtime/clock.ts';
import { bucketsBetween, bucketsOf, type Quantile, quantile } from './histogram.ts';
import { settle } from './measure-service.ts';
import { type LoadFigures, type Watched, watchLoad } from './watch-load.ts';

const stages = ['receive_to_commit', 'commit_to_ack', 'total'] as const;

export interface LatencyFigures {
  readonly rate: number;
  readonly load: LoadFigures;
  /**
   * Milliseconds from the frame's arrival at the service to its acknowledgement
   * by Kafka, and the two parts of that way.
   */
  readonly stages: Readonly<Record<(typeof stages)[number], { readonly p50: Quantile; readonly p99: Quantile }>>;
}

/** Long enough for the compiler: the first seconds at a new rate have their own latency. */
const warmUpMs = 8_000;

/**
 * Latency at a rate well below the capacity, by the service's own
 * histogram: what it observed between two scrapes.
 */
export async function measureLatency(watched: Watched, rate: number, seconds: number): Promise<LatencyFigures> {
  await watched.sandbox.setRate(rate);
  await systemClock.sleep(warmUpMs);
  const { figures, before, after } = await watchLoad(watched, { seconds, sampleEveryMs: 5000 });
  await settle(watched);
  const of = (stage: string) => {
    const buckets = [before, after].map((samples) => bucketsOf(samples, 'tidemark_latency_seconds', { stage }));
    const between = bucketsBetween(buckets[0] ?? [], buckets[1] ?? []);
    return { p50: milliseconds(quantile(between, 0.5)), p99: milliseconds(quantile(between, 0.99)) };
  };
  return {
    rate,
    load: figures,
    stages: { receive_to_commit: of(stages[0]), commit_to_ack: of(stages[1]), total: of(stages[2]) },
  };
}

function milliseconds(found: Quantile | undefined): Quantile {
  if (found === undefined) throw new Error('the service observed no latency');
  return { value: round(found.value * 1000), above: round(found.above * 1000), atMost: round(found.atMost * 1000) };
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
