import type { Metrics } from '../../observability/metrics.ts';
import {
  type BucketCounts,
  bucketQuantile,
  countsSince,
  sumOfBuckets,
  sumOfSeries,
} from '../../observability/read-metric.ts';
import type { Clock } from '../../runtime/clock.ts';

/** Waiting rows, and since when: the oldest one's wall time, left out when none waits. */
export interface Waiting {
  readonly rows: number;
  readonly oldestMs?: number | undefined;
  /** What is known of the reason, in words. */
  readonly why?: string | undefined;
}

/** The data's way at one moment: the whole service's, so it names no account. */
export interface PipelineReading {
  /** Wall time. */
  readonly atMs: number;
  readonly monotonicMs: number;
  /** Changes that were committed since the process began. */
  readonly updates: number;
  /** From the socket to the acknowledgement of Kafka, since the process began. */
  readonly latency: BucketCounts;
  /** Observations that are not committed yet. */
  readonly ingest: Waiting;
  /** Committed rows that Kafka has not acknowledged, by topic. */
  readonly updatesTopic: Waiting;
  readonly stateTopic: Waiting;
  readonly resultsTopic: Waiting;
  /** When a heartbeat last came back from Kafka, by wall time; left out until the first one. */
  readonly heartbeatMs?: number;
}

interface ReadingDeps {
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly ingest: {
    readonly depth: number;
    readonly oldestUncommittedMs: number | undefined;
    readonly trouble?: string | undefined;
  };
}

/** Reads memory only: it waits for nothing outside of the process. */
export async function readPipeline({ clock, metrics, ingest }: ReadingDeps): Promise<PipelineReading> {
  const { relay } = metrics;
  const waiting = async (topic: string): Promise<Waiting> => {
    const oldest = await sumOfSeries(relay.oldestPending, { topic });
    return { rows: await sumOfSeries(relay.pending, { topic }), ...(oldest > 0 && { oldestMs: oldest * 1000 }) };
  };
  const heartbeat = await sumOfSeries(relay.canary);
  return {
    atMs: clock.nowMs(),
    monotonicMs: clock.monotonicMs(),
    updates: await sumOfSeries(metrics.ingest.observations, { result: 'applied' }),
    latency: await sumOfBuckets(metrics.ingest.latency, { stage: 'total' }),
    ingest: { rows: ingest.depth, oldestMs: ingest.oldestUncommittedMs, why: ingest.trouble },
    updatesTopic: await waiting('updates'),
    stateTopic: await waiting('state'),
    resultsTopic: await waiting('results'),
    ...(heartbeat > 0 && { heartbeatMs: heartbeat * 1000 }),
  };
}

/** Between two readings. */
export interface PipelineRates {
  readonly updatesPerSecond: number;
  /** Null: nothing came through. */
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
}

export function ratesBetween(before: PipelineReading, now: PipelineReading): PipelineRates {
  const seconds = (now.monotonicMs - before.monotonicMs) / 1000;
  const latency = countsSince(now.latency, before.latency);
  return {
    updatesPerSecond: seconds <= 0 ? 0 : rounded((now.updates - before.updates) / seconds),
    p50Ms: quantileMs(0.5, latency),
    p99Ms: quantileMs(0.99, latency),
  };
}

function quantileMs(quantile: number, counts: BucketCounts): number | null {
  const seconds = bucketQuantile(quantile, counts);
  return seconds === undefined ? null : rounded(seconds * 1000);
}

/** To a tenth: more would only be noise. */
function rounded(value: number): number {
  return Math.round(value * 10) / 10;
}
