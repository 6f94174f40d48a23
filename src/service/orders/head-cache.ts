import type { Head } from '../../domain/head.ts';
import { isTerminal } from '../../domain/order.ts';

const closedShare = 5;

interface Slot {
  head: Head;
  /** Batches in flight that changed it. */
  pins: number;
}

/**
 * The newest heads in memory, least recently written first out. Below half of the room, where
 * nothing has to be evicted soon, each keeps its place. Heads of closed orders have a fifth of the
 * room: almost no rows follow them, only those that an audit shows again. At thousands of updates a
 * second they alone would fill it all (100 MB, and every whole collection would go through them).
 *
 * A known order's head is put into its existing slot. Taking it out and putting it in again left a
 * gap in the map each time. V8 copies a map full of gaps, and the old map points to the new one.
 * Once one map in that chain has left the young generation, every later one does too, with all its
 * heads (640 bytes an update instead of 270).
 *
 * Invariant: a batch in flight pins the heads that it changed, and a pinned head is never evicted
 * by size. The database doesn't have it yet, so reading it back would bring the state before the
 * change. All other heads can be missing: they are read from the store.
 */
export class HeadCache {
  private readonly open = new Map<string, Slot>();
  private readonly closed = new Map<string, Slot>();
  private readonly capacity: number;

  constructor(capacity: number) {
    this.capacity = capacity;
  }

  get size(): number {
    return this.open.size + this.closed.size;
  }

  /**
   * Leaves the map's order as it is: moving each head to the end when it is read took 2 us of an
   * update's 40.
   */
  get(key: string): Head | undefined {
    return this.slot(key)?.head;
  }

  has(key: string): boolean {
    return this.open.has(key) || this.closed.has(key);
  }

  set(key: string, head: Head): void {
    const heads = isTerminal(head.order.status) ? this.closed : this.open;
    const slot = this.slot(key);
    if (slot === undefined) {
      heads.set(key, { head, pins: 0 });
      return;
    }
    slot.head = head;
    if (heads.has(key) && 2 * this.size <= this.capacity) return;
    this.evict(key);
    heads.set(key, slot);
  }

  /** Does nothing for an unknown head. */
  pin(key: string): void {
    const slot = this.slot(key);
    if (slot !== undefined) slot.pins += 1;
  }

  unpin(key: string): void {
    const slot = this.slot(key);
    if (slot !== undefined && slot.pins > 0) slot.pins -= 1;
  }

  /** Removes it with its pins. For use after a failure: the head may never have been committed. */
  evict(key: string): void {
    if (!this.open.delete(key)) this.closed.delete(key);
  }

  /** Removes these accounts' heads, but not pinned ones. */
  forget(isOf: (accountId: string, key: string) => boolean): void {
    for (const heads of [this.open, this.closed])
      for (const [key, { head, pins }] of heads) if (pins === 0 && isOf(head.order.accountId, key)) heads.delete(key);
  }

  /** Back to the capacity, passing over pinned heads. */
  trim(): void {
    trimTo(this.closed, Math.ceil(this.capacity / closedShare));
    trimTo(this.open, this.capacity - this.closed.size);
  }

  private slot(key: string): Slot | undefined {
    return this.open.get(key) ?? this.closed.get(key);
  }
}

function trimTo(heads: Map<string, Slot>, capacity: number): void {
  let excess = heads.size - capacity;
  if (excess <= 0) return;
  for (const [key, { pins }] of heads) {
    if (excess <= 0) return;
    if (pins > 0) continue;
    heads.delete(key);
    excess -= 1;
  }
}
