import { unitsOf } from '../text/decimal-text.ts';
import { type ColumnName, columnOf, valueUnits } from './order-columns.ts';
import { directionOf, type OrderRow } from './order-row.ts';

export const groupParts = ['account', 'symbol', 'side'] as const;
export type GroupPart = (typeof groupParts)[number];

/** Opposite outcomes are two instruments, and a short sale sells. */
export const partOf: Readonly<Record<GroupPart, (row: OrderRow) => string>> = {
  account: ({ accountId }) => accountId,
  symbol: ({ order: { instrument } }) =>
    instrument.outcome === undefined ? instrument.symbol : `${instrument.symbol} ${instrument.outcome}`,
  side: ({ order }) => directionOf(order.side),
};

/** A group has a sum for these columns. */
export const summed: readonly ColumnName[] = ['quantity', 'working', 'fill', 'left', 'value'];

/** A group's line, before its orders. */
export interface GroupRow {
  readonly key: string;
  /** Any order in it: all have the group's account, symbol or side. */
  readonly sample: OrderRow;
  readonly orders: number;
  /** How many orders have no value, since a price is missing. */
  readonly unpriced: number;
  /** In units (decimal-text.ts), ordered as `summed`. */
  readonly sums: readonly bigint[];
  readonly folded: boolean;
}

export function groupText({ sample }: GroupRow, parts: readonly GroupPart[]): string {
  return parts.map((part) => partOf[part](sample)).join(', ');
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
  /** By order: its group, and its part in the sums. */
  private readonly members = new Map<
    string,
    { readonly group: string; readonly values: readonly (bigint | undefined)[] }
  >();
  private readonly parts: readonly GroupPart[];
  private readonly isFolded: (group: string) => boolean;

  constructor(parts: readonly GroupPart[], isFolded: (group: string) => boolean) {
    this.parts = parts;
    this.isFolded = isFolded;
  }

  /** Returns whether the order itself is shown. */
  add(row: OrderRow): boolean {
    if (this.parts.length === 0) return true;
    const group = `group\n${this.parts.map((part) => partOf[part](row)).join('\n')}`;
    const values = summed.map((name) => (name === 'value' ? valueUnits(row) : unitsOf(columnOf(name).value(row))));
    this.members.set(row.key, { group, values });
    return this.count(group, row, 1, values);
  }

  /** An order added before. Returns whether it was shown. */
  remove(row: OrderRow): boolean {
    const member = this.members.get(row.key);
    if (member === undefined) return true;
    this.members.delete(row.key);
    return this.count(member.group, row, -1, member.values);
  }

  groupOf(orderKey: string): string | undefined {
    return this.members.get(orderKey)?.group;
  }

  /** The lines to take out, and those to put in, since the last call. */
  exchange(): { readonly old: GroupRow[]; readonly fresh: GroupRow[] } {
    const [old, fresh]: [GroupRow[], GroupRow[]] = [[], []];
    for (const key of this.touched) {
      const [line, totals] = [this.lines.get(key), this.totals.get(key)];
      if (line !== undefined) old.push(line);
      this.lines.delete(key);
      if (totals === undefined) continue;
      const next = { ...totals, key, sums: [...totals.sums], folded: this.isFolded(key) };
      this.lines.set(key, next);
      fresh.push(next);
    }
    this.touched.clear();
    return { old, fresh };
  }

  private count(group: string, row: OrderRow, sign: 1 | -1, values: readonly (bigint | undefined)[]): boolean {
    const totals = this.totals.get(group) ?? { sample: row, orders: 0, unpriced: 0, sums: summed.map(() => 0n) };
    totals.orders += sign;
    for (const [at, units] of values.entries()) {
      if (units === undefined) totals.unpriced += sign;
      else totals.sums[at] = (totals.sums[at] ?? 0n) + (sign === 1 ? units : -units);
    }
    if (totals.orders === 0) this.totals.delete(group);
    else this.totals.set(group, totals);
    this.touched.add(group);
    return !this.isFolded(group);
  }
}
