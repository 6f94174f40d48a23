import { rootPixels, textWidth } from '../parts/text-width.ts';
import type { BlotterView } from '../state/orders/blotter-view.ts';
import { type ColumnName, columnOf, isAmount, shownValue } from '../state/orders/order-columns.ts';
import { type GroupRow, groupText, isGroup, type ListRow, summed } from '../state/orders/order-groups.ts';
import type { OrderRow } from '../state/orders/order-row.ts';
import { amountParts, placesOf, textOfUnits } from '../state/text/decimal-text.ts';
import { plural } from '../state/text/word-text.ts';
import { leastPlaces, textOf } from './blotter-columns.tsx';

/** In rem: a cell's room beside its text. */
const beside: Readonly<Partial<Record<ColumnName, number>>> = { status: 1.1, fill: 3.4, value: 1.2 };
/** Some only when they differ from the submitted terms. */
const bold: readonly ColumnName[] = ['instrument', 'side', 'working', 'at', 'fill'];
/** The sort mark in a heading. */
const markWidth = 1.2;
/** These share the rest, with notes and ids. */
const roomy: readonly ColumnName[] = ['account', 'instrument', 'certainty'];
/** A UUID. */
const idWidth = 21;
const noteWidth = 30;
const columnGap = 0.8;
const phonePadding = 1.4;
const phoneGap = 0.6;
/** Only texts longer than the specification allows are cut there. */
const mostWidth = 50;

/** How many columns stand before the first sum: a group's name has their room. */
export function spanOf(columns: readonly ColumnName[]): number {
  return Math.max(
    1,
    columns.findIndex((name) => summed.includes(name)),
  );
}

/** On a phone, the sums below a group's name. */
export const phoneSums: readonly ColumnName[] = ['fill', 'left', 'value'];

/** How many lines cells with these widths take: one without room goes on in the next. */
function linesIn(widths: readonly number[], room: number): number {
  let [count, left] = [1, room];
  for (const width of widths) {
    if (width > left && left < room) [count, left] = [count + 1, room];
    count += Math.max(0, Math.ceil(width / room) - 1);
    left -= width + phoneGap;
  }
  return count;
}

/**
 * How wide each column has to be for the rows seen so far, and how many decimals each
 * instrument's prices have. They only grow, so that nothing moves to and fro.
 */
export class ColumnSizes {
  /** Rises when an instrument has more decimals than before: drawn prices are then too short. */
  grown = 0;
  private readonly columns: readonly ColumnName[];
  private readonly view: Pick<BlotterView, 'sort' | 'group'>;
  /** The widest group line: its name, and how many orders it has. */
  private heading = 0;
  private known = new WeakSet<ListRow>();
  private readonly places = new Map<string, number>();
  private readonly whole = new Map<ColumnName, number>();
  private readonly fraction = new Map<ColumnName, number>();

  constructor(columns: readonly ColumnName[], view: Pick<BlotterView, 'sort' | 'group'>) {
    this.columns = columns;
    this.view = view;
  }

  take(rows: readonly ListRow[], nowMs: number): void {
    const before = this.grown;
    for (const row of rows) if (!isGroup(row) && !this.known.has(row)) this.takePlaces(row);
    // Each row may be wider than it was measured.
    if (this.grown !== before) this.known = new WeakSet();
    for (const row of rows) {
      if (this.known.has(row)) continue;
      this.known.add(row);
      if (isGroup(row)) this.takeGroup(row);
      else this.takeOrder(row, nowMs);
    }
  }

  private takeOrder(row: OrderRow, nowMs: number): void {
    for (const name of this.columns) this.measure(name, row, nowMs);
    this.measure('working', row, nowMs);
  }

  private takeGroup(row: GroupRow): void {
    this.heading = Math.max(
      this.heading,
      textWidth(`▸ ${groupText(row, this.view.group)}  ${plural(row.orders, 'order')}`, 'bold'),
    );
    for (const [at, name] of summed.entries())
      this.measureAmount(name, textOfUnits(row.sums[at] ?? 0n), leastPlaces(name, 0));
  }

  placesOf({ order }: OrderRow): number {
    return this.places.get(order.instrument.symbol) ?? 2;
  }

  /** How many lines the widest row needs on a phone. */
  linesOf(lines: readonly (readonly ColumnName[])[], pixels: number): number {
    const room = pixels / rootPixels - phonePadding;
    // The whole stands behind the filled part, and a stop price has its name before it.
    const more = (name: ColumnName) => (name === 'fill' ? this.contentOf('working') + 1 : name === 'stop' ? 3 : 0);
    const ofOrders = lines.map((names) =>
      linesIn(
        names.map((name) => this.contentOf(name) + more(name)),
        room,
      ),
    );
    const sums = phoneSums.map((name) => this.contentOf(name) + textWidth(` ${columnOf(name).label}`, 'plain'));
    const ofGroups = this.heading === 0 ? 0 : linesIn([this.heading], room) + linesIn(sums, room);
    return Math.max(
      ofGroups,
      ofOrders.reduce((sum, count) => sum + count),
    );
  }

  /** In rem. */
  private widthOf(name: ColumnName): number {
    const { label, kind } = columnOf(name);
    const most = kind === 'id' ? idWidth : kind === 'note' ? noteWidth : mostWidth;
    return Math.min(
      most,
      Math.max(textWidth(label, 'bold') + (name === this.view.sort.column ? markWidth : 0), this.contentOf(name)),
    );
  }

  private contentOf(name: ColumnName): number {
    return (this.whole.get(name) ?? 0) + (this.fraction.get(name) ?? 0) + (beside[name] ?? 0);
  }

  /** The table's variables: its grid's tracks, and the room behind the points. */
  style(widths: BlotterView['widths']): Record<string, string> {
    const span = spanOf(this.columns);
    const spanned = this.columns.slice(0, span).reduce((sum, name) => sum + this.widthOf(name) + columnGap, -columnGap);
    const tracks = this.columns.map((name, at) => {
      const [least, wanted, { kind }] = [this.widthOf(name), widths[name], columnOf(name)];
      const mayCut = kind === 'note' || kind === 'id';
      // The last column under a group's name gives the room it lacks.
      if (at === span - 1 && this.heading > spanned) return `${least + this.heading - spanned}rem`;
      if (wanted !== undefined) return mayCut ? `${wanted}px` : `max(${wanted}px, ${least}rem)`;
      return mayCut || roomy.includes(name) ? `minmax(${least}rem, ${least}fr)` : `${least}rem`;
    });
    const rooms = [...this.fraction].map(([name, width]) => [`--${name}`, `${width}rem`]);
    return { '--columns': tracks.join(' '), ...Object.fromEntries(rooms) };
  }

  private takePlaces({ order }: OrderRow): void {
    const { instrument, price, stopPrice, working } = order;
    const places = Math.max(...[price, stopPrice, working.price].map(placesOf));
    if (places <= (this.places.get(instrument.symbol) ?? 0)) return;
    this.places.set(instrument.symbol, places);
    this.grown += 1;
  }

  private measure(name: ColumnName, row: OrderRow, nowMs: number): void {
    const { kind } = columnOf(name);
    const places = this.placesOf(row);
    if (isAmount(name)) this.measureAmount(name, shownValue(name, row, places), leastPlaces(name, places));
    else
      this.widen(
        this.whole,
        name,
        textWidth(textOf(name, row, nowMs), kind === 'id' ? 'code' : bold.includes(name) ? 'bold' : 'plain'),
      );
  }

  private measureAmount(name: ColumnName, text = '–', places = 0): void {
    const { whole, fraction } = amountParts(text, places);
    const font = bold.includes(name) || this.view.group.length > 0 ? 'bold' : 'plain';
    this.widen(this.whole, name, textWidth(whole, font));
    this.widen(this.fraction, name, textWidth(fraction, font));
  }

  private widen(widths: Map<ColumnName, number>, name: ColumnName, width: number): void {
    if (width > (widths.get(name) ?? -1)) widths.set(name, width);
  }
}
