import type { IngestItem, ObservationResult } from '../../domain/observation.ts';
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
  if (entry.kind === 'watermarks') return 0;
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
  return entry.kind === 'watermarks' ? smallEntryBytes + accountIdBytes * entry.accountIds.length : smallEntryBytes;
}

/**
 * Reports to all waiters how their entries ended, and counts them: the counters add up to the
 * number of incoming entries. Called once an entry, after the commit.
 */
export function endEntries(
  entries: readonly Entry[],
  {
    results,
    learnt,
  }: { readonly results: readonly (ObservationResult | undefined)[]; readonly learnt?: ReadonlySet<Entry> },
  counter: Metrics['ingest']['observations'],
): void {
  const counts = new Map<string, { stream: string; cause: string; result: ObservationResult; count: number }>();
  for (const [index, entry] of entries.entries()) {
    if (entry.kind === 'barrier') {
      entry.resolve();
      continue;
    }
    const result = results[index];
    if (result === undefined || entry.kind === 'watermarks') continue;
    const stream = entry.kind === 'order' ? entry.view.stream : entry.stream;
    const name = `${stream} ${entry.cause} ${result}`;
    const counted = counts.get(name);
    if (counted === undefined) counts.set(name, { stream, cause: entry.cause, result, count: 1 });
    else counted.count += 1;
    entry.onResult?.(result, learnt?.has(entry));
  }
  for (const { stream, cause, result, count } of counts.values()) counter.inc({ stream, cause, result }, count);
}

/**
 * One batch's size, counted as its entries came; its statement is about three times as large. 500
 * ordinary events are half a megabyte. 500 events of the largest size would make a statement of 100
 * MB: a network that can't carry it within the deadline would get it again for ever.
 */
export const batchMaxBytes = 4 * 1024 * 1024;

/**
 * Twice this size, about 128 ordinary events, is small enough for any usable link. If such a batch
 * failed, its size was not the cause.
 */
const batchMinBytes = 64 * 1024;

/**
 * The next batch's size limit. If a batch failed, and was not refused for its content, it is not
 * tried again at the same size: a link may carry half of it within the deadline. This happens for
 * every such failure, whether the size was the cause or not: batches that are too small for some
 * moments cost little.
 *
 * Invariant: `batchMinBytes` <= `maxBytes` <= `batchMaxBytes`. It halves with each failed batch and
 * grows by a sixteenth with each one that passed. Doubling was not taken: a link that carries this
 * size and not twice as much would meet the deadline with every second batch.
 */
export class BatchSize {
  private next = batchMaxBytes;

  get maxBytes(): number {
    return this.next;
  }

  failed(entries: readonly Entry[]): void {
    const half = Math.floor(bytesOf(entries) / 2);
    if (half >= batchMinBytes) this.next = Math.min(this.next, half);
  }

  /** A smaller batch that passed proves nothing about larger ones. */
  passed(entries: readonly Entry[]): void {
    if (this.next === batchMaxBytes || 2 * bytesOf(entries) < this.next) return;
    this.next = Math.min(batchMaxBytes, Math.ceil(this.next * (1 + 1 / 16)));
  }
}

export function bytesOf(entries: readonly Entry[]): number {
  return entries.reduce((sum, entry) => sum + queuedBytes(entry), 0);
}

/**
 * How many of the first entries make a batch: at most `maxCount`, and at most `maxBytes` in all,
 * but always one, however large it is.
 */
export function countFitting(entries: readonly Entry[], maxCount: number, maxBytes: number): number {
  let bytes = 0;
  for (const [index, entry] of entries.entries()) {
    bytes += queuedBytes(entry);
    if (index >= maxCount || (index > 0 && bytes > maxBytes)) return index;
  }
  return entries.length;
}
