import type { Pool } from 'pg';
import type { Backoff } from '../../runtime/backoff.ts';
import type { Clock } from '../../runtime/clock.ts';
import { PublishError, type Publisher, type PublishRow } from '../../service/log/publisher.ts';
import { type LogSlice, readLogSlice } from '../../store/orders/read-log-slice.ts';

/** The publisher's topic of updates is the target. */
export interface ReplayDeps extends PatientDeps {
  readonly pool: Pool;
  readonly onProgress: (progress: ReplayProgress) => void;
}

interface ReplayOptions {
  readonly slice: LogSlice;
  readonly afterSeq: bigint;
  readonly upToSeq: bigint;
  /** Updates a second at most. */
  readonly rate: number;
}

export interface ReplayProgress {
  readonly sent: number;
  /** Everything up to here was read and, if wanted, acknowledged: go on after it. */
  readonly reachedSeq: bigint;
}

const mostAtOnce = 1_000;

/**
 * Writes the wanted rows of the log to a topic, in the same order. Each send follows the
 * acknowledgement before it, and a pause to keep the rate. Ends at `upToSeq` or, between two sends,
 * when the signal aborts. Rejects with the publisher's error once further tries do not help;
 * `onProgress` has reported how far it came.
 */
export async function runReplay(
  deps: ReplayDeps,
  { slice, afterSeq, upToSeq, rate }: ReplayOptions,
): Promise<ReplayProgress> {
  const { pool, clock, signal, onProgress } = deps;
  // A tenth of a second at a time: a low rate is even, and not one burst a minute.
  const atOnce = Math.max(1, Math.min(mostAtOnce, Math.floor(rate / 10)));
  const startedMs = clock.monotonicMs();
  let progress: ReplayProgress = { sent: 0, reachedSeq: afterSeq };
  const reach = (sent: number, reachedSeq: bigint) => {
    progress = { sent, reachedSeq };
    onProgress(progress);
  };
  while (progress.reachedSeq < upToSeq && !signal.aborted) {
    const { rows, lastSeq } = await readLogSlice(pool, slice, progress.reachedSeq, upToSeq);
    for (let from = 0; from < rows.length && !signal.aborted; from += atOnce) {
      const some = rows.slice(from, from + atOnce);
      await publishPatiently(
        deps,
        some.map(({ key, payload }) => ({ topic: 'updates', key, payload })),
      );
      reach(progress.sent + some.length, some.at(-1)?.seq ?? progress.reachedSeq);
      const restMs = startedMs + (progress.sent / rate) * 1_000 - clock.monotonicMs();
      if (restMs > 0) await clock.sleep(restMs, signal);
    }
    if (!signal.aborted) reach(progress.sent, lastSeq);
  }
  return progress;
}

interface PatientDeps {
  readonly publisher: Publisher;
  readonly clock: Clock;
  readonly backoff: Backoff;
  readonly signal: AbortSignal;
  /** Called for the first failure in a row. */
  readonly onTrouble: (error: PublishError) => void;
}

/** A broker's restart, or a new election, is over by then. */
const patienceMs = 120_000;

/** Another try can't fix these: a person has to act. */
const final: ReadonlySet<string> = new Set(['too_large', 'unauthorized', 'unknown_topic', 'wrong_partitions']);

/**
 * Publishes, and goes on trying while Kafka is down for a moment. A failed try may have written
 * records. The next one repeats them, and readers drop repeats by their revision. Rejects with the
 * publisher's error if it is final, has lasted for two minutes, or the signal aborts.
 */
export async function publishPatiently(deps: PatientDeps, rows: readonly PublishRow[]): Promise<void> {
  const { publisher, clock, backoff, signal, onTrouble } = deps;
  const startedMs = clock.monotonicMs();
  for (let failures = 0; ; failures += 1) {
    try {
      await publisher.publish(rows);
      backoff.reset();
      return;
    } catch (error) {
      const passing = error instanceof PublishError && !final.has(error.code);
      if (!passing || signal.aborted || clock.monotonicMs() - startedMs > patienceMs) throw error;
      if (failures === 0) onTrouble(error);
      await clock.sleep(backoff.nextMs(), signal);
    }
  }
}
