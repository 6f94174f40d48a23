import { systemClock } from '../src/runtime/clock.ts';
import type { Bench, Figure } from './figure.ts';
import { bucketsBetween, bucketsOf, type Quantile, quantile } from './histogram.ts';
import { costOf, settle } from './measure-service.ts';
import { sinceOccurred } from './since-occurred.ts';
import { type LoadFigures, type Watched, watchLoad } from './watch-load.ts';
import { withService } from './with-service.ts';

const stages = ['receive_to_commit', 'commit_to_ack', 'total'] as const;

interface LatencyFigures {
  readonly load: LoadFigures;
  /** When the load was watched, by the wall clock. */
  readonly fromMs: number;
  readonly untilMs: number;
  /**
   * Milliseconds from the frame's arrival at the service to its acknowledgement
   * by Kafka, and the two parts of that way.
   */
  readonly stages: Readonly<Record<(typeof stages)[number], { readonly p50: Quantile; readonly p99: Quantile }>>;
}

/** Long enough for the compiler: the first seconds at a new rate have their own latency. */
const warmUpMs = 8_000;
const mostSeconds = 30;
/** At 1,000/s most of the time is the price of waking up. */
const rates = [
  { rate: 1000, p50: 3, p99: 20, costs: { all: 500 } },
  { rate: 5000, p50: 8, p99: 45, costs: {} },
];

export async function measureLatency(bench: Bench): Promise<Figure[]> {
  return withService(bench, { part: 'latency' }, async (watched) => {
    const figures: Figure[] = [];
    const totals: number[] = [];
    const windows: LatencyFigures[] = [];
    for (const { rate, p50, p99, costs } of rates) {
      const found = await latencyAt(watched, rate, Math.min(mostSeconds, bench.seconds));
      const { total } = found.stages;
      totals.push(total.p99.value);
      windows.push(found);
      figures.push(
        { name: `ms p50 at ${rate}/s`, value: total.p50.value, atMost: p50, note: bucketOf(total.p50) },
        { name: `ms p99 at ${rate}/s`, value: total.p99.value, atMost: p99, note: noteOf(found) },
        ...costOf(found.load, `at ${rate}/s`, costs),
      );
    }
    for (const [i, { read, sent }] of (await sinceOccurred(watched, windows)).entries()) {
      const way = `at ${rates[i]?.rate}/s, from occurredAt to the send`;
      figures.push(
        { name: `ms p50 ${way}`, value: sent.p50, note: `${round(read.p50)} until the frame is read` },
        { name: `ms p99 ${way}`, value: sent.p99, note: `${round(read.p99)} until the frame is read` },
      );
    }
    const [slow = Number.NaN, fast = Number.NaN] = totals;
    return [...figures, { name: 'times the p99 at 1000/s at 5000/s', value: fast / slow, atMost: 3 }];
  });
}

/**
 * Latency at a rate well below the capacity, by the service's own
 * histogram: what it observed between two scrapes.
 */
export async function latencyAt(watched: Watched, rate: number, forSeconds: number): Promise<LatencyFigures> {
  await watched.sandbox.setRate(rate);
  await systemClock.sleep(warmUpMs);
  const fromMs = systemClock.nowMs();
  const { figures, before, after } = await watchLoad(watched, { seconds: forSeconds, sampleEveryMs: 5000 });
  const untilMs = systemClock.nowMs();
  await settle(watched);
  const of = (stage: string) => {
    const buckets = [before, after].map((samples) => bucketsOf(samples, 'tidemark_latency_seconds', { stage }));
    const between = bucketsBetween(buckets[0] ?? [], buckets[1] ?? []);
    return { p50: milliseconds(quantile(between, 0.5)), p99: milliseconds(quantile(between, 0.99)) };
  };
  return {
    ...{ load: figures, fromMs, untilMs },
    stages: { receive_to_commit: of(stages[0]), commit_to_ack: of(stages[1]), total: of(stages[2]) },
  };
}

function noteOf({ load, stages: { receive_to_commit, commit_to_ack, total } }: LatencyFigures): string {
  const parts = `receive to commit ${receive_to_commit.p99.value}, commit to ack ${commit_to_ack.p99.value}`;
  return `${bucketOf(total.p99)}; ${parts}; ${load.publishedPerSecond}/s, highest lag ${load.lag.highest}`;
}

function bucketOf({ above, atMost }: Quantile): string {
  return `between ${above} and ${atMost}`;
}

function milliseconds(found: Quantile | undefined): Quantile {
  if (found === undefined) throw new Error('the service observed no latency');
  return { value: round(found.value * 1000), above: round(found.above * 1000), atMost: round(found.atMost * 1000) };
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
