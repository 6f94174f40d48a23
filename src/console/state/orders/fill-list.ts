import { signal } from '@preact/signals-core';
import type { Fill, OrderUpdate } from '../../../../types/records.d.ts';
import type { ConsoleState } from '../console-state.ts';
import { StreamClient } from '../stream-client.ts';
import { addDecimals } from '../text/decimal-text.ts';
import { type OrderRow, rowOfUpdate } from './order-row.ts';

/** One revision's change in the filled quantity. */
export interface FillRow {
  /** The order as it was then. */
  readonly row: OrderRow;
  readonly atText: string;
  /** Undefined: less is filled than before, and the amount is not known. */
  readonly quantity: string | undefined;
  readonly price: string | undefined;
  /** Several fills may be merged in it, or a gap lies between. */
  readonly inferred: boolean;
  readonly takenBack: boolean;
}

/** So many new updates are looked through, and so many fills are kept. */
const updatesBack = 10_000n;
const mostFills = 20_000;
const mostOrders = 50_000;

/**
 * All orders' fills, from changes in the filled quantity between revisions. The log is read
 * from a place before its end, and followed by its own stream: so none is missed between the
 * two, and none comes twice.
 */
export class FillList {
  /** Oldest first. */
  readonly fills: FillRow[] = [];
  readonly version = signal(0);
  /** Fills from before the visit are still to come. */
  readonly isReading = signal(true);
  /** When the first update seen here happened. */
  since: string | undefined;
  private readonly state: ConsoleState;
  /** Each order's newest filled quantity. */
  private readonly filled = new Map<string, { readonly revision: number; readonly cumQty: string }>();
  private isAsked = false;

  constructor(state: ConsoleState) {
    this.state = state;
  }

  /** Until `signal` aborts. `newestId`: the page's own stream has it. */
  async follow(newestId: string, signal: AbortSignal): Promise<void> {
    const newest = positionIn(newestId);
    const from = newest - updatesBack;
    this.isReading.value = true;
    const client = new StreamClient(this.state, {
      onUpdate: (update) => this.take(update),
      onPlace: (id) => {
        if (positionIn(id) >= newest) this.isReading.value = false;
      },
      onTokenEnd: (token, why) => this.state.session.tokenEnded(token, why),
    });
    await client.follow(`/v1/stream?after=${from < 0n ? 0n : from}`, signal);
  }

  take(update: OrderUpdate): void {
    const { order, revision, fill } = update;
    const row = rowOfUpdate(update, revision, 0);
    const before = this.filled.get(row.key);
    if (before !== undefined && revision <= before.revision) return;
    this.since ??= update.occurredAt;
    this.filled.delete(row.key);
    this.filled.set(row.key, { revision, cumQty: order.cumQty });
    while (this.filled.size > mostOrders) this.filled.delete(this.filled.keys().next().value ?? '');
    if (fill !== undefined) this.put(row, update, fill);
    else if (revision > 1 && update.changed.includes('cumQty')) {
      const known = before?.revision === revision - 1 ? before.cumQty : undefined;
      const quantity = known === undefined ? undefined : addDecimals(order.cumQty, `-${known}`);
      this.put(row, update, { quantity, inferred: false });
    }
  }

  private put(
    row: OrderRow,
    { occurredAt, fill }: OrderUpdate,
    { quantity, price, inferred }: Omit<Fill, 'quantity'> & { readonly quantity: string | undefined },
  ): void {
    this.fills.push({ row, atText: occurredAt, quantity, price, inferred, takenBack: fill === undefined });
    if (this.fills.length > mostFills) this.fills.splice(0, this.fills.length - mostFills);
    if (this.isAsked) return;
    this.isAsked = true;
    this.state.ports.frame(() => {
      this.isAsked = false;
      this.version.value += 1;
    });
  }
}

/** In the log, of an id as `25000.7.1`. */
function positionIn(id: string): bigint {
  return BigInt(id.split('.')[0] ?? '0');
}
