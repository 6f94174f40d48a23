import { orderFilters } from '../../../contract/list-filters.ts';
import { type FilterTexts, filtersIn, filterWords } from '../filter-address.ts';
import { symbolFilter } from '../symbol-text.ts';
import { compareDecimals, compareUnits } from '../text/decimal-text.ts';
import { type ColumnName, columnNames, columnOf, isAmount, valueUnits } from './order-columns.ts';
import { type GroupPart, groupParts, isGroup, type ListRow, partOf } from './order-groups.ts';
import { directionOf, isOpen, type OrderRow } from './order-row.ts';

/** `open` is `openOnly` in a view. */
type OrderFilters = Omit<FilterTexts<typeof orderFilters>, 'open'>;

/**
 * The blotter as its address says it: filters, order and columns.
 * A view is sent to a colleague as a link.
 */
export interface BlotterView extends OrderFilters {
  readonly openOnly: boolean;
  readonly sort: { readonly column: ColumnName; readonly descending: boolean };
  readonly columns: readonly ColumnName[];
  /** In pixels, for resized columns. */
  readonly widths: Readonly<Partial<Record<ColumnName, number>>>;
  /** Orders with the same are one group, under a line for each side's sums. */
  readonly group: readonly GroupPart[];
  /** Only the lines with the sums, unless a reader unfolds one. */
  readonly sumsOnly: boolean;
}

export type ChangeView = (over: Partial<BlotterView>) => void;

/** A reader arranges it, and finds it again at the next visit. */
export type Layout = Pick<BlotterView, 'columns' | 'widths'>;

/** Narrower, a heading can't be found again; wider, it hides the others. */
export const widthBounds = { least: 40, most: 900 } as const;

export const defaultView: BlotterView = {
  openOnly: true,
  sort: { column: 'updated', descending: true },
  columns: columnNames.filter((name) => columnOf(name).more !== true),
  widths: {},
  group: [],
  sumsOnly: false,
};

/**
 * Reads the view from the words after `?`. Unknown words count as left out: a hand-written address
 * never breaks the page. `kept`: the reader's own layout, if the address says none.
 */
export function viewOf(query: URLSearchParams, kept: Layout = defaultView): BlotterView {
  const text = (name: string) => query.get(name)?.trim() ?? '';
  const sort = text('sort');
  const column = columnNames.find((name) => name === sort.replace(/^-/, ''));
  const columns = namesIn(columnNames, text('columns'));
  const layout = query.has('columns') || query.has('widths') ? defaultView : kept;
  return {
    ...filtersIn(orderFilters, query),
    openOnly: query.get('open') !== 'any',
    sort: column === undefined ? defaultView.sort : { column, descending: sort.startsWith('-') },
    columns: columns.length === 0 ? layout.columns : withOutcome(columns),
    widths: query.has('widths') ? widthsIn(text('widths')) : layout.widths,
    group: namesIn(groupParts, text('group')),
    sumsOnly: query.get('sums') === 'only',
  };
}

/** The known words between commas, each once. */
function namesIn<Name extends string>(known: readonly Name[], text: string): readonly Name[] {
  return [...new Set(text.split(',').flatMap((word) => known.filter((name) => name === word)))];
}

/** Without its outcome a prediction contract looks like its opposite. */
function withOutcome(columns: readonly ColumnName[]): readonly ColumnName[] {
  if (columns.includes('outcome')) return columns;
  return columns.flatMap((name) => (name === 'instrument' ? [name, 'outcome'] : [name]));
}

/** `account:120,price:80` */
function widthsIn(text: string): BlotterView['widths'] {
  const widths: { [name in ColumnName]?: number } = {};
  for (const word of text.split(',')) {
    const [, column, digits] = /^([a-z]+):(\d{1,4})$/.exec(word) ?? [];
    const name = columnNames.find((known) => known === column);
    const width = Number(digits);
    if (name !== undefined && width >= widthBounds.least && width <= widthBounds.most) widths[name] = width;
  }
  return widths;
}

/** The words for the address: only those that differ from the default. */
export function queryOf(view: BlotterView): string {
  const query = new URLSearchParams(filterWords(orderFilters, view));
  if (!view.openOnly) query.set('open', 'any');
  const sort = `${view.sort.descending ? '-' : ''}${view.sort.column}`;
  if (sort !== '-updated') query.set('sort', sort);
  const columns = view.columns.join(',');
  if (columns !== defaultView.columns.join(',')) query.set('columns', columns);
  const widths = Object.entries(view.widths).map(([name, width]) => `${name}:${width}`);
  if (widths.length > 0) query.set('widths', widths.join(','));
  if (view.group.length > 0) query.set('group', view.group.join(','));
  if (view.sumsOnly) query.set('sums', 'only');
  const text = query.toString().replaceAll('%2C', ',').replaceAll('%3A', ':');
  return text === '' ? '' : `?${text}`;
}

/** Equal for views with the same rows in the same order. */
export function selectionOf(view: BlotterView): string {
  return queryOf({ ...view, columns: defaultView.columns, widths: {} });
}

/** `openOnly` is a choice of its own. */
const filterNames = (Object.keys(orderFilters) as (keyof typeof orderFilters)[]).filter((name) => name !== 'open');

export function isFiltered(view: BlotterView): boolean {
  return filterNames.some((name) => view[name] !== undefined);
}

export function withoutFilters(): Partial<BlotterView> {
  return Object.fromEntries(filterNames.map((name) => [name, undefined]));
}

/**
 * A filter that hides rows: its name for people, the count it alone hides, and the view without it.
 */
export interface Hiding {
  readonly filter: string;
  /** Undefined: not all have been read. */
  readonly hidden: number | undefined;
  readonly without: Partial<BlotterView>;
}

/**
 * For a view that shows nothing: the filters a reader can drop to see something, or all if none
 * alone is the reason. Closed orders are read only once a reader asks for them, so `Open only` is
 * always among them.
 */
export function hidingFilters(view: BlotterView, rows: Iterable<OrderRow>): readonly Hiding[] {
  const all = [...rows];
  const count = (without: Partial<BlotterView>) => all.filter(filterOf({ ...view, ...without })).length;
  const given = filterNames.flatMap((name) => {
    const value = view[name];
    if (value === undefined) return [];
    const without = { [name]: undefined };
    return [{ filter: `${orderFilters[name].label} ${value.replaceAll('_', ' ')}`, hidden: count(without), without }];
  });
  const effective = given.filter(({ hidden }) => hidden > 0);
  const openOnly = view.openOnly ? [{ filter: 'Open only', hidden: undefined, without: { openOnly: false } }] : [];
  return [...openOnly, ...(effective.length > 0 ? effective : given)];
}

/** The column at another place, counted without it. */
export function withMoved(columns: readonly ColumnName[], name: ColumnName, to: number): readonly ColumnName[] {
  const others = columns.filter((other) => other !== name);
  return [...others.slice(0, Math.max(0, to)), name, ...others.slice(Math.max(0, to))];
}

/** One column more, at its usual place; the others keep their order. */
export function withColumn(columns: readonly ColumnName[], name: ColumnName): readonly ColumnName[] {
  const rank = columnNames.indexOf(name);
  const next = columns.findIndex((other) => columnNames.indexOf(other) > rank);
  return next < 0 ? [...columns, name] : [...columns.slice(0, next), name, ...columns.slice(next)];
}

type Fit = (wanted: string) => (row: OrderRow) => boolean;
type Field = keyof OrderRow | keyof OrderRow['order'];

const timeOf = ({ order }: OrderRow) => Date.parse(order.updatedAt);

/** How a row is compared with a filter. The others are fields of the row, equal to the letter. */
const fits: Readonly<Record<Exclude<keyof OrderFilters, Field>, Fit> & Partial<Record<keyof OrderFilters, Fit>>> = {
  accountId: (wanted) => (row) => row.accountId.toLowerCase() === wanted.toLowerCase(),
  symbol: (wanted) => {
    const names = symbolFilter(wanted);
    return ({ order }) => names(order.instrument);
  },
  side: (wanted) => (row) => directionOf(row.order.side) === wanted,
  // By the time in the column "Changed": only the database has the time of its commit.
  since: (wanted) => (row) => timeOf(row) >= Date.parse(wanted),
  until: (wanted) => (row) => timeOf(row) < Date.parse(wanted),
  q: (wanted) => {
    const [text, names] = [wanted.toLowerCase(), symbolFilter(wanted)];
    return ({ orderId, order }) => finds(text, orderId, order) || names(order.instrument);
  },
};

const ofField =
  (name: keyof OrderFilters): Fit =>
  (wanted) =>
  (row) =>
    (Reflect.get(row, name) ?? Reflect.get(row.order, name)) === wanted;

/** Whether a row belongs into the view. */
export function filterOf(view: BlotterView): (row: OrderRow) => boolean {
  const wanted = filterNames.flatMap((name) => {
    const text = view[name];
    return text === undefined ? [] : [(fits[name] ?? ofField(name))(text)];
  });
  return (row) => (!view.openOnly || isOpen(row.order)) && wanted.every((fitsTo) => fitsTo(row));
}

/** `wanted`: in small letters. */
function finds(wanted: string, orderId: string, order: OrderRow['order']): boolean {
  const { instrument, callerRef, clientOrderRef, clOrdId, venueOrderId, commandId } = order;
  const words = [orderId, instrument.symbol, callerRef, clientOrderRef, clOrdId, venueOrderId, commandId];
  return words.some((word) => word?.toLowerCase().includes(wanted) === true);
}

const byText = (a: string, b: string) => (a === b ? 0 : a < b ? -1 : 1);

/** A row never changes, and a sort compares each many times. */
const values = new WeakMap<OrderRow, bigint | undefined>();

function knownValue(row: OrderRow): bigint | undefined {
  if (!values.has(row)) values.set(row, valueUnits(row));
  return values.get(row);
}

/** By the moment and the amount, and not by their texts. */
function comparerOf(name: ColumnName): (a: OrderRow, b: OrderRow) => number {
  if (name === 'updated') return (a, b) => a.rank - b.rank;
  const { value, kind } = columnOf(name);
  if (name === 'value') return (a, b) => compareUnits(knownValue(a), knownValue(b));
  if (isAmount(name)) return (a, b) => compareDecimals(value(a), value(b));
  const momentOf = (row: OrderRow) => Date.parse(value(row) ?? '') || 0;
  if (kind === 'time') return (a, b) => momentOf(a) - momentOf(b);
  return (a, b) => byText(value(a) ?? '', value(b) ?? '');
}

/**
 * Groups by their names, and a group's lines before its orders, bought first. Rows equal in the
 * column come newest first, then by key, so that none changes its place without a reason.
 */
export function orderOf({ sort, group }: BlotterView): (a: ListRow, b: ListRow) => number {
  const compare = comparerOf(sort.column);
  const sign = sort.descending ? -1 : 1;
  const parts = group.map((name) => partOf[name]);
  return (a, b) => {
    const [left, right] = [isGroup(a) ? a.sample : a, isGroup(b) ? b.sample : b];
    for (const part of parts) {
      const order = byText(part(left), part(right));
      if (order !== 0) return order;
    }
    if (isGroup(a) && isGroup(b)) return byText(a.key, b.key);
    if (isGroup(a) || isGroup(b)) return Number(isGroup(b)) - Number(isGroup(a));
    return sign * compare(left, right) || right.rank - left.rank || byText(left.key, right.key);
  };
}
