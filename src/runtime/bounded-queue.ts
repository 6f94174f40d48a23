interface QueueLimits {
  readonly maxCount: number;
  readonly maxBytes: number;
}

/**
 * A first-in first-out queue bounded by count and by bytes. It never drops: `push` always takes the
 * item, since a received item must not vanish. `full` asks the producer to stop reading until
 * `onRoom` is called. So items in flight when the queue filled may pass the bound: one socket
 * buffer a producer.
 *
 * Invariant: `bytes` is the sum of the queued items' sizes. `onRoom` is called once for each time
 * it became full, when half of both bounds is free again (hysteresis, so sockets are not paused and
 * resumed for each item).
 */
export class BoundedQueue<T> {
  private items: T[] = [];
  private sizes: number[] = [];
  private head = 0;
  private queuedBytes = 0;
  private wasFull = false;
  private readonly limits: QueueLimits;
  private readonly onRoom: () => void;

  constructor(limits: QueueLimits, onRoom: () => void) {
    this.limits = limits;
    this.onRoom = onRoom;
  }

  get count(): number {
    return this.items.length - this.head;
  }

  /** The next item to be taken; undefined when the queue is empty. */
  get oldest(): T | undefined {
    return this.items[this.head];
  }

  get bytes(): number {
    return this.queuedBytes;
  }

  /** True from the push that reached a bound until half of both bounds is free again. */
  get full(): boolean {
    return this.wasFull;
  }

  push(item: T, sizeBytes: number): void {
    this.items.push(item);
    this.sizes.push(sizeBytes);
    this.queuedBytes += sizeBytes;
    if (this.count >= this.limits.maxCount || this.queuedBytes >= this.limits.maxBytes) this.wasFull = true;
  }

  /**
   * Takes up to `maxCount` items and `maxBytes` in all, oldest first; at least one, however large
   * it is.
   */
  take(maxCount: number, maxBytes = Number.POSITIVE_INFINITY): T[] {
    const last = Math.min(this.items.length, this.head + maxCount);
    let end = this.head;
    let bytes = 0;
    for (; end < last; end += 1) {
      const size = this.sizes[end] ?? 0;
      if (end > this.head && bytes + size > maxBytes) break;
      bytes += size;
    }
    const taken = this.items.slice(this.head, end);
    this.queuedBytes -= bytes;
    this.head = end;
    this.compact();
    if (this.wasFull && this.count <= this.limits.maxCount / 2 && this.queuedBytes <= this.limits.maxBytes / 2) {
      this.wasFull = false;
      this.onRoom();
    }
    return taken;
  }

  /** Drops the consumed front once it outweighs the rest, so `take` stays linear overall. */
  private compact(): void {
    if (this.head < 1024 && this.head < this.items.length) return;
    if (this.head * 2 < this.items.length) return;
    this.items = this.items.slice(this.head);
    this.sizes = this.sizes.slice(this.head);
    this.head = 0;
  }
}
