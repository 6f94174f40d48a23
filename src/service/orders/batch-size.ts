import { type Entry, queuedBytes } from './entry.ts';

/**
 * The size of one batch, as its entries came: a statement is about three times as large. 500
 * ordinary events are half a megabyte; 500 of the largest would be a statement of 100 MB, and if
 * the network does not carry that within the deadline it would be tried again for ever.
 */
export const batchMaxBytes = 4 * 1024 * 1024;

/**
 * A batch of twice this size, about 128 ordinary events, is small enough for any usable link: if it
 * failed, its size was not the cause.
 */
const batchMinBytes = 64 * 1024;

/**
 * The size limit of the next batch. A batch that failed, and was not refused for its
 * content, is not tried again at the same size: a link may carry half of it within the
 * deadline. It is not checked which failures were due to the size: batches that are smaller
 * than necessary for some moments cost little.
 *
 * Invariant: `batchMinBytes` <= `maxBytes` <= `batchMaxBytes`. It halves with each batch that
 * failed and grows by a sixteenth with each that passed. If it doubled instead, every second batch
 * would meet the deadline again on a link that carries this size and not twice as much.
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
 * How many of the first entries make a batch: up to `maxCount` of `maxBytes`
 * in all; at least one, however large it is.
 */
export function countFitting(entries: readonly Entry[], maxCount: number, maxBytes: number): number {
  let bytes = 0;
  for (const [index, entry] of entries.entries()) {
    bytes += queuedBytes(entry);
    if (index >= maxCount || (index > 0 && bytes > maxBytes)) return index;
  }
  return entries.length;
}
