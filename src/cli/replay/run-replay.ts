import type { Pool } from 'pg';
import { type LogSlice, readLogSlice } from '../../store/read-log-slice.ts';
import { type PatientDeps, publishPatiently } from './publish-patiently.ts';

/** The publisher's topic of updates is the one that is written to. */
export interface ReplayDeps extends PatientDeps {
  readonly pool: Pool;
  readonly onProgress: (progress: ReplayProgress) => void;
}

export interface ReplayOptions {
  readonly slice: LogSlice;
  readonly afterSeq: bigint;
  readonly upToSeq: bigint;
  /** Updates a second at most. */
  readonly rate: number;
}

export interface ReplayProgress {
  readonly sent: number;
  /** Everything up to here was looked at and, where wanted, acknowledged: where to go on. */
  readonly reachedSeq: bigint;
}

const mostAtOnce = 1_000;

/**
 * The wanted rows of the log → a topic, in the order of the log, each send once the one before is acknowledged, and no faster than the rate: after each send it rests until that
 * many may have gone. Ends at `upToSeq` or when the signal aborts, between two sends. Rejects with the publisher's error, once patience does not help; `onProgress` has told how far it came.
 */
export async function runReplay(deps: ReplayDeps, { slice, afterSeq, upToSeq, rate }: ReplayOptions): Promise<ReplayProgress> {
  const { pool, clock, signal, onProgress } = deps;
  // A tenth of a second at a time, so that a low rate is a low rate and not a burst a minute.
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
