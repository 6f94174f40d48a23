import type { Clock } from '../runtime/clock.ts';
import type { UpdateLog } from '../store/update-log.ts';

const askEveryMs = 100;

/**
 * Resolves once Kafka has acknowledged every row that the lane's log has now, on the topics of updates and of states, and both positions are saved. Rejects when
 * `signal` aborts before, or the database can't be reached.
 */
export async function awaitPublished(
  deps: { readonly updates: Pick<UpdateLog, 'backlog'>; readonly clock: Clock },
  lane: number,
  signal: AbortSignal,
): Promise<void> {
  const { updates, clock } = deps;
  const targets = new Map((await updates.backlog(lane)).map(({ cursor, newest }) => [cursor, newest ?? 0n]));
  for (;;) {
    const backlog = await updates.backlog(lane);
    if (backlog.every(({ cursor, passed }) => passed >= (targets.get(cursor) ?? 0n))) return;
    await clock.sleep(askEveryMs, signal);
    signal.throwIfAborted();
  }
}
