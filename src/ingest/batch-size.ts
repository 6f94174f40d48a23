import { type Entry, entryBytes } from './entry.ts';

/**
 * What one batch may hold, as it came: a statement is about three times as large. 500 ordinary events are half a megabyte; 500 of the largest would be a
 * statement of 100 MB, and where the network does not carry that within the deadline it would be tried again for ever.
 */
export const batchMaxBytes = 4 * 1024 * 1024;

/** A batch of twice as much, about 128 ordinary events, is small enough for any link that is of use: whatever it failed of, it was not its size. */
const batchMinBytes = 64 * 1024;

/**
 * How much the next batch may hold. What failed, and was not refused for what is in it, is not tried again as it was: a link may carry half of it within the
 * deadline. Which failures were due to the size is not asked: batches that are smaller than they need be for some moments cost little.
 *
 * Invariant: `batchMinBytes` <= `maxBytes` <= `batchMaxBytes`. It halves with each batch that failed and grows by a sixteenth with each that passed: were it
 * doubled, every second batch would meet the deadline again on a link that carries so much and not twice as much.
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

  /** A smaller batch that passed says nothing of larger ones. */
  passed(entries: readonly Entry[]): void {
    if (this.next === batchMaxBytes || 2 * bytesOf(entries) < this.next) return;
    this.next = Math.min(batchMaxBytes, Math.ceil(this.next * (1 + 1 / 16)));
  }
}

export function bytesOf(entries: readonly Entry[]): number {
  return entries.reduce((sum, entry) => sum + entryBytes(entry), 0);
}

/** How many of the first entries make a batch: up to `maxCount` of `maxBytes` in all; at least one, however large it is. */
export function countFitting(entries: readonly Entry[], maxCount: number, maxBytes: number): number {
  let bytes = 0;
  for (const [index, entry] of entries.entries()) {
    bytes += entryBytes(entry);
    if (index >= maxCount || (index > 0 && bytes > maxBytes)) return index;
  }
  return entries.length;
}
