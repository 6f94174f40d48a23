import { type Signal, signal } from '@preact/signals-core';
import { type BlotterView, filterOf, orderOf } from './blotter-view.ts';
import type { OrderRow } from './order-row.ts';
import type { OrderChanges, OrderStore } from './order-store.ts';

/**
 * The rows of one view, in its order. A frame costs one pass over the list and a sort of the rows that changed, not a sort of everything. While it is paused
 * the list stands still, and `waiting` counts the orders that changed meanwhile.
 */
export class OrderList {
  readonly rows: Signal<readonly OrderRow[]> = signal<readonly OrderRow[]>([]);
  readonly waiting: Signal<number> = signal(0);
  private readonly store: OrderStore;
  private readonly missed = new Set<string>();
  private view: BlotterView;
  private paused = false;
  private readonly end: () => void;

  constructor(store: OrderStore, view: BlotterView) {
    this.store = store;
    this.view = view;
    this.end = store.listen((changes) => this.take(changes));
    this.rebuild();
  }

  show(view: BlotterView): void {
    this.view = view;
    this.rebuild();
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
    this.rows.value = [...this.store.rows.values()].filter(filterOf(this.view)).sort(orderOf(this.view));
  }

  private take({ changed, gone }: OrderChanges): void {
    if (this.paused) {
      for (const key of changed.keys()) this.missed.add(key);
      for (const key of gone) this.missed.add(key);
      this.waiting.value = this.missed.size;
      return;
    }
    const compare = orderOf(this.view);
    const fresh = [...changed.values()].filter(filterOf(this.view)).sort(compare);
    const kept = this.rows.peek().filter(({ key }) => !changed.has(key) && !gone.has(key));
    if (fresh.length === 0 && kept.length === this.rows.peek().length) return;
    this.rows.value = merged(kept, fresh, compare);
  }
}

function merged(
  kept: readonly OrderRow[],
  fresh: readonly OrderRow[],
  compare: (a: OrderRow, b: OrderRow) => number,
): OrderRow[] {
  const rows: OrderRow[] = [];
  let at = 0;
  for (const row of fresh) {
    for (let next = kept[at]; next !== undefined && compare(next, row) <= 0; next = kept[at]) {
      rows.push(next);
      at += 1;
    }
    rows.push(row);
  }
  for (; at < kept.length; at += 1) rows.push(kept[at] as OrderRow);
  return rows;
}
