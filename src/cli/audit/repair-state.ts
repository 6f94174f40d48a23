import type { Pool } from 'pg';
import { PublishError, type StatePublisher } from '../../relay/publisher.ts';
import type { Clock } from '../../runtime/clock.ts';
import { newestPayloads } from '../../store/newest-payloads.ts';

export interface RepairDeps {
  readonly pool: Pool;
  /** With the transactional id of the lane's own writer. */
  readonly publisher: StatePublisher;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onProgress: (written: number) => void;
}

const ordersAtOnce = 500;
const mostTries = 10;
/** A service that runs takes its topic back after a failure within a second or two; both would do nothing else than take turns. */
const pauseMs = 1_500;

/**
 * Writes the newest state of orders to the compacted topic, beside a service that may run. The orders are read only once we are the topic's one writer: what is newer
 * was not written before that, and who writes after it has fenced us, so our transaction fails. So an older state never lands behind a newer one, as with the
 * service's own writer. Resolves with the number of orders written; rejects with `PublishError` when it did not get through.
 * Ends early, between two transactions, when the signal aborts: what is written by then counts.
 */
export async function repairState(
  { pool, publisher, clock, signal, onProgress }: RepairDeps,
  keys: readonly string[],
): Promise<number> {
  let written = 0;
  let owner = false;
  for (let from = 0; from < keys.length && !signal.aborted; from += ordersAtOnce) {
    const some = keys.slice(from, from + ordersAtOnce);
    for (let tries = 1; ; tries += 1) {
      try {
        if (!owner) await publisher.takeOver();
        owner = true;
        const payloads = await newestPayloads(pool, some);
        await publisher.flush([...payloads].map(([key, payload]) => ({ topic: 'updates', key, payload })));
        written += payloads.size;
        onProgress(written);
        break;
      } catch (error) {
        owner = false;
        if (!(error instanceof PublishError) || tries === mostTries) throw error;
        await clock.sleep(pauseMs, signal);
        if (signal.aborted) return written;
      }
    }
  }
  return written;
}
