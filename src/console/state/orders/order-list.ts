import { signal } from '@preact/signals-core';
import type { Ports, Timer } from '../ports.ts';
import { type BlotterView, filterOf, orderOf, selectionOf } from './blotter-view.ts';
import { type ListRow, OrderGroups } from './order-groups.ts';
import type { OrderRow } from './order-row.ts';
import type { OrderChanges, OrderStore } from './order-store.ts';
import { exchangeRows, placeIn } from './sorted-rows.ts';

/** A reader aims at a row for so long, after the last move of the pointer or press of a key. */
const holdMs = 2_000;

/**
 * The rows of one view, in its order. While it is paused the list stands still, and `waiting`
 * counts the orders changed meanwhile; while it is held the rows stay in their places, and only
 * their values are new. Invariant: `rows` has exactly those in `shown`, without folded groups, and
 * each group's lines, sorted.
 */
export class OrderList {
  /** Changed in place; `version` says when. */
  readonly rows: ListRow[] = [];
  readonly version = signal(0);
  readonly waiting = signal(0);
  private readonly store: OrderStore;
  private readonly missed = new Set<string>();
  /** New values for held rows; `rows` has the sorted ones. */
  private readonly renewed = new Map<string, OrderRow>();
  private holding: Timer | undefined;
  private readonly shown = new Map<string, OrderRow>();
  private view: BlotterView;
  private groups: OrderGroups;
  /** Groups folded by a reader, or unfolded while only sums are shown. */
  private readonly turned = new Set<string>();
  private paused = false;
  private readonly closing = new AbortController();

  constructor(store: OrderStore, view: BlotterView) {
    this.store = store;
    this.view = view;
    this.groups = this.newGroups();
    store.changes.add((changes) => this.take(changes), this.closing.signal);
    this.rebuild();
  }

  /** The index of an order in `rows`; -1: it is not among them. */
  readonly placeOf = (key: string): number => {
    const row = this.shown.get(key) ?? this.groups.lines.get(key);
    const place = row === undefined ? -1 : placeIn(this.rows, row, this.rows.length, orderOf(this.view));
    return this.rows[place]?.key === key ? place : -1;
  };

  /** A row of `rows` with its newest values. */
  readonly drawnOf = (row: ListRow): ListRow => this.renewed.get(row.key) ?? row;

  /** Undefined: it is not in the view. */
  orderOf(key: string): OrderRow | undefined {
    return this.renewed.get(key) ?? this.shown.get(key);
  }

  /** All orders in the view, also those in folded groups. */
  orders(): OrderRow[] {
    return [...this.shown.values()].sort(orderOf(this.view)).map((row) => this.orderOf(row.key) ?? row);
  }

  get count(): number {
    return this.shown.size;
  }

  /** Folds a group, or unfolds it. */
  readonly fold = (group: string): void => {
    if (!this.turned.delete(group)) this.turned.add(group);
    this.rebuild();
  };

  show(view: BlotterView): void {
    const same = selectionOf(view) === selectionOf(this.view);
    if (view.sumsOnly !== this.view.sumsOnly) this.turned.clear();
    this.view = view;
    // Other columns change no row, and sorting 100,000 rows takes longer than a frame.
    if (!same) this.rebuild();
  }

  setPaused(paused: boolean): void {
    this.paused = paused;
    this.goOn();
  }

  /** The rows keep their places from now on, for a short time. */
  hold({ after }: Pick<Ports, 'after'>): void {
    this.holding?.cancel();
    this.holding = after(holdMs, () => {
      this.holding = undefined;
      this.goOn();
    });
  }

  close(): void {
    this.holding?.cancel();
    this.closing.abort();
  }

  private goOn(): void {
    if (this.paused || this.missed.size === 0) return;
    // Of many, each place would be looked for.
    if (this.holding === undefined && this.missed.size * 4 > this.rows.length) {
      this.rebuild();
      return;
    }
    const changed = new Map<string, OrderRow>();
    const gone = new Set<string>();
    for (const key of this.missed) {
      const row = this.store.rows.get(key);
      if (row === undefined) gone.add(key);
      else changed.set(key, row);
    }
    this.forgetMissed();
    this.take({ changed, gone });
  }

  private forgetMissed(): void {
    this.missed.clear();
    this.renewed.clear();
    this.waiting.value = 0;
  }

  private rebuild(): void {
    this.forgetMissed();
    const wanted = filterOf(this.view);
    this.shown.clear();
    this.rows.length = 0;
    this.groups = this.newGroups();
    const shown: OrderRow[] = [];
    for (const row of this.store.rows.values()) if (wanted(row)) this.putIn(row, shown);
    // Group by group: to compare 100,000 rows' groups in one sort took seconds.
    const within = orderOf({ ...this.view, group: [] });
    const groups = Map.groupBy(shown, (row) => this.groups.groupOf(row));
    for (const row of groups.get(undefined)?.sort(within) ?? []) this.rows.push(row);
    const lines = this.groups.exchange().fresh.sort(orderOf(this.view));
    for (const [at, line] of lines.entries()) {
      this.rows.push(line);
      if (lines[at + 1]?.group === line.group) continue;
      for (const row of groups.get(line.group)?.sort(within) ?? []) this.rows.push(row);
    }
    this.version.value += 1;
  }

  private take({ changed, gone }: OrderChanges): void {
    if (this.paused || this.holding !== undefined) {
      for (const key of changed.keys()) this.missed.add(key);
      for (const key of gone) this.missed.add(key);
      this.waiting.value = this.missed.size;
      if (this.paused) return;
      for (const row of changed.values()) if (this.shown.has(row.key)) this.renewed.set(row.key, row);
      this.version.value += 1;
      return;
    }
    const wanted = filterOf(this.view);
    const old: ListRow[] = [];
    const fresh: ListRow[] = [];
    for (const key of gone) this.takeOut(key, old);
    for (const row of changed.values()) {
      this.takeOut(row.key, old);
      if (wanted(row)) this.putIn(row, fresh);
    }
    const lines = this.groups.exchange();
    old.push(...lines.old);
    fresh.push(...lines.fresh);
    if (old.length === 0 && fresh.length === 0) return;
    const compare = orderOf(this.view);
    exchangeRows(this.rows, old.sort(compare), fresh.sort(compare), compare);
    this.version.value += 1;
  }

  private newGroups(): OrderGroups {
    const { group, sumsOnly } = this.view;
    return new OrderGroups(group, (name) => sumsOnly !== this.turned.has(name));
  }

  private putIn(row: OrderRow, fresh: { push(row: OrderRow): unknown }): void {
    this.shown.set(row.key, row);
    if (this.groups.add(row)) fresh.push(row);
  }

  private takeOut(key: string, old: ListRow[]): void {
    const row = this.shown.get(key);
    if (row === undefined) return;
    this.shown.delete(key);
    if (this.groups.remove(row)) old.push(row);
  }
}
