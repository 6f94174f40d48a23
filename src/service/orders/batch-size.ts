import { type Entry, queuedBytes } from './entry.ts';

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
