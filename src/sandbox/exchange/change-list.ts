import { type ChangeEntry, type ExchangeOrder, isClosed } from './exchange-order.ts';
import type { Micros } from './wire-text.ts';

/** No lag: every order's newest entry. */
export const present: Micros = Number.MAX_VALUE;

/**
 * The orders of one account and stream by their last change, oldest first: the list endpoints page
 * through it.
 *
 * Invariant: entries rise by `at`; exactly one entry for each order is not superseded. An order
 * that changes while a reader pages moves to the end and is met again there, never missed.
 * Superseded entries that no reader can ask for are dropped once they outnumber the rest. So a
 * change costs O(1) and the list stays within twice its orders, at any rate.
 */
export class ChangeList {
  private entries: ChangeEntry[] = [];
  private dead = 0;

  /**
   * Enters the change just made. `before` is the row as it stood until now, when lists may lag; no
   * reader asks for entries superseded at or before `horizon`.
   */
  push(order: ExchangeOrder, before: string | undefined, horizon: Micros): void {
    const last = order.entry;
    if (last !== undefined) {
      last.supersededAt = order.updatedAt;
      last.row = before;
      this.dead += 1;
    }
    order.entry = {
      order,
      at: order.updatedAt,
      wasClosed: isClosed(order.state),
      supersededAt: Number.POSITIVE_INFINITY,
      row: undefined,
      previous: before === undefined ? undefined : last,
    };
    this.entries.push(order.entry);
    if (this.dead > 1024 && this.dead * 2 > this.entries.length) this.compact(horizon);
  }

  /** Drops an order for good: the oldest closed ones go when the exchange is full. */
  forget(order: ExchangeOrder): void {
    if (order.entry === undefined) return;
    order.entry.supersededAt = 0;
    order.entry = undefined;
    this.dead += 1;
  }

  /**
   * Each order's newest entry at `asOf`, oldest first, from the first later than `after` on; stops
   * when `visit` answers false.
   */
  visit(after: Micros, asOf: Micros, visit: (entry: ChangeEntry) => boolean): void {
    for (let i = this.firstLater(after); i < this.entries.length; i += 1) {
      const entry = this.entries[i] as ChangeEntry;
      if (entry.at > asOf) return;
      if (entry.supersededAt > asOf && !visit(entry)) return;
    }
  }

  private firstLater(after: Micros): number {
    let low = 0;
    let high = this.entries.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.entries[middle] as ChangeEntry).at <= after) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  private compact(horizon: Micros): void {
    const kept: ChangeEntry[] = [];
    for (const entry of this.entries) {
      if (entry.supersededAt > horizon) kept.push(entry);
      // Cut the chain too: a newer entry may still point here.
      else entry.previous = undefined;
    }
    this.entries = kept;
    // An entry kept for lag counts as alive until the next round, so that a long lag does not
    // compact at each change.
    this.dead = 0;
  }
}

/** The newest entry of `order` at `asOf`; undefined when the order did not exist then. */
export function entryAt(order: ExchangeOrder, asOf: Micros): ChangeEntry | undefined {
  let entry = order.entry;
  while (entry !== undefined && entry.at > asOf) entry = entry.previous;
  return entry;
}
