import type { Clock } from '../../runtime/clock.ts';
import type { UpdateLog } from '../../store/orders/update-log.ts';

const askEveryMs = 50;

/**
 * Resolves once Kafka has acknowledged every row now in the lane's log, on the topics of updates
 * and of states, and both positions are saved. Until then `parts` don't rest: a shard on its way to
 * another process has none meanwhile. Rejects when `signal` aborts before, or the database can't be
 * reached.
 */
export async function awaitPublished(
  deps: {
    readonly updates: Pick<UpdateLog, 'backlog'>;
    readonly clock: Clock;
    readonly parts: readonly { hurry(): void }[];
  },
  lane: number,
  signal: AbortSignal,
): Promise<void> {
  const { updates, clock, parts } = deps;
  const first = await updates.backlog(lane);
  const targets = new Map(first.map(({ cursor, newest }) => [cursor, newest ?? 0n]));
  for (let backlog = first; ; backlog = await updates.backlog(lane)) {
    if (backlog.every(({ cursor, passed }) => passed >= (targets.get(cursor) ?? 0n))) return;
    for (const part of parts) part.hurry();
    await clock.sleep(askEveryMs, signal);
    signal.throwIfAborted();
  }
}
