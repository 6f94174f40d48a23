import type { Head } from '../../domain/head.ts';
import { isTerminal } from '../../domain/order.ts';
import { rememberDeadLetters } from './dead-letters.ts';

const closedShare = 5;

/** One order in memory, from its first head to its eviction. */
export interface Slot {
  readonly key: string;
  head: Head;
  /** Batches in flight that changed it. */
  pins: number;
  /** In the map of closed orders. */
  closed: boolean;
  /** What the batch in preparation makes of it. */
  newest: Newest | undefined;
}

/** An order's last state in a batch. */
export interface Newest {
  readonly slot: Slot;
  /** Undefined: as the head shows it. */
  state: string | undefined;
  readonly reducedFrom: number;
  /** Among the heads, from 1. */
  readonly place: number;
  /** Of its last update among the updates, from 1. */
  update: number | null;
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
  /** See `rememberDeadLetters`. */
  readonly deadLetters = new Map<string, string>();
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
  slot(key: string): Slot | undefined {
    return this.open.get(key) ?? this.closed.get(key);
  }

  get(key: string): Head | undefined {
    return this.slot(key)?.head;
  }

  /** As the database has it. Undefined: it ended, is not here, or a batch in flight changes it. */
  committedOpen(key: string): Head | undefined {
    const slot = this.open.get(key);
    return slot === undefined || slot.pins > 0 ? undefined : slot.head;
  }

  /** `slot`: the key's own, if it has one. */
  set(key: string, head: Head, slot = this.slot(key)): Slot {
    const closed = isTerminal(head.order.status);
    if (slot === undefined) return this.put({ key, head, pins: 0, closed, newest: undefined });
    slot.head = head;
    if (slot.closed === closed && 2 * this.size <= this.capacity) return slot;
    this.evict(slot);
    slot.closed = closed;
    return this.put(slot);
  }

  pin(slot: Slot): void {
    slot.pins += 1;
  }

  unpin(slot: Slot): void {
    slot.pins -= 1;
  }

  /** They are committed. */
  keep(deadLetters: ReadonlyMap<string, string>): void {
    if (deadLetters.size > 0) rememberDeadLetters(this.deadLetters, deadLetters);
  }

  /** Removes it with its pins. For use after a failure: the head may never have been committed. */
  evict(slot: Slot): void {
    this.headsOf(slot).delete(slot.key);
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

  private put(slot: Slot): Slot {
    this.headsOf(slot).set(slot.key, slot);
    return slot;
  }

  private headsOf(slot: Slot): Map<string, Slot> {
    return slot.closed ? this.closed : this.open;
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
