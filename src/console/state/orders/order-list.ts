import { type Signal, signal } from '@preact/signals-core';
import { type BlotterView, filterOf, orderOf, selectionOf } from './blotter-view.ts';
import type { OrderRow } from './order-row.ts';
import type { OrderChanges, OrderStore } from './order-store.ts';
import { exchangeRows, placeIn } from './sorted-rows.ts';

/**
 * The rows of one view, in its order. While it is paused the list stands still, and `waiting`
 * counts the orders changed meanwhile. Invariant: `shown` has exactly the rows in `rows`, sorted.
 */
export class OrderList {
  /** Changed in place; `version` says when. */
  readonly rows: OrderRow[] = [];
  readonly version: Signal<number> = signal(0);
  readonly waiting: Signal<number> = signal(0);
  private readonly store: OrderStore;
  private readonly missed = new Set<string>();
  private readonly shown = new Map<string, OrderRow>();
  private view: BlotterView;
  private paused = false;
  private readonly end: () => void;

  constructor(store: OrderStore, view: BlotterView) {
    this.store = store;
    this.view = view;
    this.end = store.listen((changes) => this.take(changes));
    this.rebuild();
  }

  /** The index of an order in `rows`; -1: it is not among them. */
  readonly placeOf = (key: string): number => {
    const row = this.shown.get(key);
    return row === undefined ? -1 : placeIn(this.rows, row, this.rows.length, orderOf(this.view));
  };

  show(view: BlotterView): void {
    const same = selectionOf(view) === selectionOf(this.view);
    this.view = view;
    // Other columns change no row, and sorting 100,000 rows takes longer than a frame.
    if (!same) this.rebuild();
  }

  setPaused(paused: boolean): void {
    this.paused = paused;
    if (!paused && this.missed.size > 0) this.rebuild();
  }

  close(): void {
    this.end();
  }

  private rebuild(): void {
    this.missed.clear();
    this.waiting.value = 0;
    const wanted = filterOf(this.view);
    this.shown.clear();
    this.rows.length = 0;
    for (const row of this.store.rows.values()) {
      if (!wanted(row)) continue;
      this.shown.set(row.key, row);
      this.rows.push(row);
    }
    this.rows.sort(orderOf(this.view));
    this.version.value += 1;
  }

  private take({ changed, gone }: OrderChanges): void {
    if (this.paused) {
      for (const key of changed.keys()) this.missed.add(key);
      for (const key of gone) this.missed.add(key);
      this.waiting.value = this.missed.size;
      return;
    }
    const wanted = filterOf(this.view);
    const old: OrderRow[] = [];
    const fresh: OrderRow[] = [];
    for (const key of gone) this.takeOut(key, old);
    for (const row of changed.values()) {
      this.takeOut(row.key, old);
      if (!wanted(row)) continue;
      this.shown.set(row.key, row);
      fresh.push(row);
    }
    if (old.length === 0 && fresh.length === 0) return;
    const compare = orderOf(this.view);
    exchangeRows(this.rows, old.sort(compare), fresh.sort(compare), compare);
    this.version.value += 1;
  }

  private takeOut(key: string, old: OrderRow[]): void {
    const row = this.shown.get(key);
    if (row === undefined) return;
    this.shown.delete(key);
    old.push(row);
  }
}
