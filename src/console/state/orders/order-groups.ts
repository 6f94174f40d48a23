import { accountText } from '../../../domain/streams.ts';
import { unitsOf } from '../text/decimal-text.ts';
import { type ColumnName, columnOf, valueUnits } from './order-columns.ts';
import { directionOf, type OrderRow } from './order-row.ts';

export const groupParts = ['account', 'symbol', 'side'] as const;
export type GroupPart = (typeof groupParts)[number];

/** Opposite outcomes are two instruments, and a short sale sells. */
export const partOf: Readonly<Record<GroupPart, (row: OrderRow) => string>> = {
  account: accountText,
  symbol: ({ order: { instrument } }) =>
    instrument.outcome === undefined ? instrument.symbol : `${instrument.symbol} ${instrument.outcome}`,
  side: ({ order }) => directionOf(order.side),
};

/** A group has a sum for these columns. */
export const summed: readonly ColumnName[] = ['quantity', 'working', 'fill', 'left', 'value'];

const sumOf = summed.map((name) =>
  name === 'value' ? valueUnits : (row: OrderRow) => unitsOf(columnOf(name).value(row)),
);

const sides = ['buy', 'sell'] as const;

/**
 * A group's line, before its orders, with one side's sums. Each side has its own line: no desk adds
 * what it buys to what it sells.
 */
export interface GroupRow {
  readonly key: string;
  readonly group: string;
  /** The group's first line. */
  readonly leads: boolean;
  /** Any order in the line: all have the group's account or symbol, and one side. */
  readonly sample: OrderRow;
  readonly orders: number;
  /** How many orders have no value, since a price is missing. */
  readonly unpriced: number;
  /** In units (decimal-text.ts), ordered as `summed`. */
  readonly sums: readonly bigint[];
  readonly folded: boolean;
}

export function groupText({ sample }: GroupRow, parts: readonly GroupPart[]): string {
  const named: readonly GroupPart[] = parts.includes('side') ? parts : [...parts, 'side'];
  return named.map((part) => partOf[part](sample)).join(', ');
}

export type ListRow = OrderRow | GroupRow;

export function isGroup(row: ListRow): row is GroupRow {
  return 'sums' in row;
}

interface Totals {
  readonly sample: OrderRow;
  orders: number;
  unpriced: number;
  readonly sums: bigint[];
}

/** A list's groups. Sums are kept up: to add up 100,000 orders anew takes half a second. */
export class OrderGroups {
  /** The lines in the list. */
  readonly lines = new Map<string, GroupRow>();
  private readonly totals = new Map<string, Totals>();
  private readonly touched = new Set<string>();
  private readonly parts: readonly GroupPart[];
  private readonly isFolded: (group: string) => boolean;

  constructor(parts: readonly GroupPart[], isFolded: (group: string) => boolean) {
    this.parts = parts;
    this.isFolded = isFolded;
  }

  /** Returns whether the order itself is shown. */
  add(row: OrderRow): boolean {
    return this.count(row, 1);
  }

  /** An order added before. Returns whether it was shown. */
  remove(row: OrderRow): boolean {
    return this.count(row, -1);
  }

  /** Undefined: orders are not grouped. */
  groupOf(row: OrderRow): string | undefined {
    let group = 'group';
    for (const part of this.parts) group += `\n${partOf[part](row)}`;
    return group === 'group' ? undefined : group;
  }

  /** The lines to take out, and those to put in, since the last call. */
  exchange(): { readonly old: GroupRow[]; readonly fresh: GroupRow[] } {
    const [old, fresh]: [GroupRow[], GroupRow[]] = [[], []];
    for (const group of this.touched) {
      const folded = this.isFolded(group);
      let leads = true;
      for (const side of sides) {
        const key = `${group}\n${side}`;
        const [line, totals] = [this.lines.get(key), this.totals.get(key)];
        if (line !== undefined) old.push(line);
        this.lines.delete(key);
        if (totals === undefined) continue;
        const next = { ...totals, key, group, leads, sums: [...totals.sums], folded };
        this.lines.set(key, next);
        fresh.push(next);
        leads = false;
      }
    }
    this.touched.clear();
    return { old, fresh };
  }

  private count(row: OrderRow, sign: 1 | -1): boolean {
    const group = this.groupOf(row);
    if (group === undefined) return true;
    const key = `${group}\n${directionOf(row.order.side)}`;
    let totals = this.totals.get(key);
    if (totals === undefined) {
      totals = { sample: row, orders: 0, unpriced: 0, sums: summed.map(() => 0n) };
      this.totals.set(key, totals);
    }
    totals.orders += sign;
    for (let at = 0; at < sumOf.length; at += 1) {
      const units = sumOf[at]?.(row);
      if (units === undefined) totals.unpriced += sign;
      else totals.sums[at] = (totals.sums[at] ?? 0n) + (sign === 1 ? units : -units);
    }
    if (totals.orders === 0) this.totals.delete(key);
    this.touched.add(group);
    return !this.isFolded(group);
  }
}
