import type { IngestItem, Outcome } from '../../domain/observation.ts';
import { orderKey } from '../../domain/order.ts';
import type { Metrics } from '../../observability/metrics.ts';
import type { Clock } from '../../runtime/clock.ts';

/** A place in the queue. Its waiter learns when every entry before it has been committed. */
interface Barrier {
  readonly kind: 'barrier';
  /** Its batch is committed even if it has no rows. */
  readonly numbered?: true;
  readonly atMs: number;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/** The items of the ingest queue. */
export type Entry = IngestItem | Barrier;

/**
 * How long ago it came, at the first look at it. By the monotonic clock, since a row's wall time is
 * the database's. A mark is taken as new: its time is the one it speaks of.
 */
export function entryAgeMs(entry: Entry, clock: Clock): number {
  if (entry.kind === 'continuity') return 0;
  if (entry.kind === 'barrier') return Math.max(0, clock.nowMs() - entry.atMs);
  const { observedAtMs, receivedMs } = entry;
  return Math.max(
    0,
    receivedMs === undefined ? clock.nowMs() - observedAtMs : Math.floor(clock.monotonicMs() - receivedMs),
  );
}

/**
 * Each entry's key, '' without an order. Made once a batch: a key is put together and hashed at its
 * first use.
 */
export function keysOf(entries: readonly Entry[]): readonly string[] {
  return entries.map((entry) => (entry.kind === 'order' ? orderKey(entry.view.stream, entry.view.orderId) : ''));
}

const smallEntryBytes = 256;
const accountIdBytes = 64;

/** The size that an entry takes of the queue's bound. */
export function queuedBytes(entry: Entry): number {
  if (entry.kind === 'order' || entry.kind === 'unreadable') return entry.bytes;
  return entry.kind === 'continuity' ? smallEntryBytes + accountIdBytes * entry.accountIds.length : smallEntryBytes;
}

/**
 * Reports to all waiters how their entries ended, and counts them: the counters add up to the
 * number of incoming entries. Called once an entry, after the commit.
 */
export function endEntries(
  entries: readonly Entry[],
  { outcomes, learnt }: { readonly outcomes: readonly (Outcome | undefined)[]; readonly learnt?: ReadonlySet<Entry> },
  counter: Metrics['ingest']['observations'],
): void {
  const counts = new Map<string, { stream: string; cause: string; outcome: Outcome; count: number }>();
  for (const [index, entry] of entries.entries()) {
    if (entry.kind === 'barrier') {
      entry.resolve();
      continue;
    }
    const outcome = outcomes[index];
    if (outcome === undefined || entry.kind === 'continuity') continue;
    const stream = entry.kind === 'order' ? entry.view.stream : entry.stream;
    const name = `${stream} ${entry.cause} ${outcome}`;
    const counted = counts.get(name);
    if (counted === undefined) counts.set(name, { stream, cause: entry.cause, outcome, count: 1 });
    else counted.count += 1;
    entry.onOutcome?.(outcome, learnt?.has(entry));
  }
  for (const { stream, cause, outcome, count } of counts.values()) counter.inc({ stream, cause, outcome }, count);
}
