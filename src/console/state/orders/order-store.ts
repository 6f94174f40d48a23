import type { OrderUpdate } from '../../../../types/records.d.ts';
import { Listeners } from '../listeners.ts';
import type { Ports } from '../ports.ts';
import { isNewer, isOpen, type ListedOrder, type OrderRow, rowOfListed, rowOfUpdate } from './order-row.ts';

/** The rows changed since the last call, newest state only, and those that are gone. */
export interface OrderChanges {
  readonly changed: ReadonlyMap<string, OrderRow>;
  readonly gone: ReadonlySet<string>;
}

/**
 * The newest state of every order known to this page. However many updates come between two frames,
 * each order counts once: listeners get one set of changes for each drawn frame. Invariant: a row
 * is replaced by a newer one only, whatever the order of arrival.
 */
export class OrderStore {
  readonly rows = new Map<string, OrderRow>();
  /** Updates that arrived, with those older than the known state. */
  received = 0;
  /** Each frame's. */
  readonly changes = new Listeners<OrderChanges>();
  private changed = new Map<string, OrderRow>();
  private gone = new Set<string>();
  /** Orders that are over, by their last change, oldest first. */
  private readonly closed = new Set<string>();
  private rank = 0;
  private asked = false;
  private readonly ports: Pick<Ports, 'frame' | 'monotonicMs'>;
  private readonly mostClosed: number;

  /** Orders that are over are kept up to `mostClosed`; the one changed longest ago goes first. */
  constructor(ports: Pick<Ports, 'frame' | 'monotonicMs'>, mostClosed = 20_000) {
    this.ports = ports;
    this.mostClosed = mostClosed;
  }

  takeUpdate(update: OrderUpdate): void {
    this.received += 1;
    this.rank += 1;
    this.put(rowOfUpdate(update, this.rank, this.ports.monotonicMs()));
  }

  /** Rows from a list. They rank below every change seen happen, the newest first. */
  takeListed(items: readonly ListedOrder[]): void {
    for (const item of items) this.put(rowOfListed(item, rankOfListed(item)));
  }

  /** After the stream skipped updates: everything is read anew. */
  clear(): void {
    for (const key of this.rows.keys()) this.gone.add(key);
    this.rows.clear();
    this.closed.clear();
    this.changed.clear();
    this.ask();
  }

  private put(row: OrderRow): void {
    const known = this.rows.get(row.key);
    if (!isNewer(row, known)) return;
    this.rows.set(row.key, row);
    // A field changed twice within a frame has changed.
    const waiting = this.changed.get(row.key);
    this.changed.set(
      row.key,
      waiting === undefined ? row : { ...row, changed: [...new Set([...waiting.changed, ...row.changed])] },
    );
    this.gone.delete(row.key);
    this.closed.delete(row.key);
    if (!isOpen(row.order)) this.closed.add(row.key);
    this.dropOldest();
    this.ask();
  }

  private dropOldest(): void {
    for (const key of this.closed) {
      if (this.closed.size <= this.mostClosed) return;
      this.closed.delete(key);
      this.rows.delete(key);
      this.changed.delete(key);
      this.gone.add(key);
    }
  }

  private ask(): void {
    if (this.asked) return;
    this.asked = true;
    this.ports.frame(() => this.flush());
  }

  private flush(): void {
    this.asked = false;
    const changes: OrderChanges = { changed: this.changed, gone: this.gone };
    this.changed = new Map();
    this.gone = new Set();
    this.changes.call(changes);
  }
}

/** Below zero, and so below every change that was seen; a later time is a higher rank. */
function rankOfListed({ order }: ListedOrder): number {
  const atMs = Date.parse(order.updatedAt);
  return Number.isNaN(atMs) ? Number.MIN_SAFE_INTEGER : atMs - 8.64e15;
}
