import type { NormalisedOrder } from '../../../../types/records.d.ts';
import { accountText } from '../../../domain/streams.ts';
import { productUnits, roundUnits, textOfUnits, unitsOf } from '../text/decimal-text.ts';
import { joined } from '../text/word-text.ts';
import type { OrderRow } from './order-row.ts';

interface Column {
  readonly label: string;
  /**
   * `price`: with as many decimals as its instrument's others. `word`, as an amount and a time, is
   * never cut: it decides. `note` and `id` may be.
   */
  readonly kind: 'word' | 'note' | 'id' | 'time' | 'quantity' | 'price' | 'money';
  /** As the platform has it: rows are in its order. */
  readonly value: (row: OrderRow) => string | undefined;
  /** A change in one of these lets the cell flash. */
  readonly fields: readonly string[];
  /** Shown once the reader chooses it. */
  readonly more?: boolean;
}

/** A column for one field of an order, as it stands there. */
function ofField(label: string, kind: Column['kind'], field: keyof NormalisedOrder, more = false): Column {
  return { label, kind, value: ({ order }) => order[field] as string | undefined, fields: [field], more };
}

/** In their usual order. */
const orderColumns = {
  updated: { label: 'Changed', kind: 'time', value: ({ order }) => order.updatedAt, fields: [] },
  account: { label: 'Account', kind: 'word', value: accountText, fields: [] },
  instrument: {
    label: 'Instrument',
    kind: 'word',
    value: ({ order }) => order.instrument.symbol,
    fields: ['instrument'],
  },
  outcome: { label: 'Outcome', kind: 'word', value: ({ order }) => order.instrument.outcome, fields: [] },
  side: ofField('Side', 'word', 'side'),
  type: ofField('Type', 'word', 'orderType'),
  tif: ofField('Time in force', 'word', 'timeInForce', true),
  quantity: ofField('Quantity', 'quantity', 'quantity'),
  price: ofField('Price', 'price', 'price'),
  stop: ofField('Stop', 'price', 'stopPrice'),
  status: { label: 'Status', kind: 'word', value: ({ order }) => order.status, fields: ['status', 'statusRaw'] },
  certainty: {
    label: 'In doubt',
    kind: 'word',
    value: ({ order }) => order.certainty + order.pendingAction,
    fields: ['certainty', 'pendingAction', 'conflict'],
  },
  working: { label: 'Working', kind: 'quantity', value: ({ order }) => order.working.quantity, fields: ['working'] },
  at: { label: 'At', kind: 'price', value: ({ order }) => order.working.price, fields: ['working'] },
  fill: ofField('Filled', 'quantity', 'cumQty'),
  left: ofField('Left', 'quantity', 'leavesQty'),
  average: ofField('Average', 'price', 'avgPrice'),
  value: { label: 'Value', kind: 'money', value: valueText, fields: [], more: true },
  created: { label: 'Created', kind: 'time', value: ({ order }) => order.createdAt, fields: [], more: true },
  reject: {
    label: 'Reject reason',
    kind: 'note',
    value: ({ order: { rejectReason, rejectText } }) => joined([rejectReason, rejectText], ': ') || undefined,
    fields: ['rejectReason', 'rejectText'],
    more: true,
  },
  reference: {
    label: 'Client reference',
    kind: 'id',
    value: ({ order }) => order.clientOrderRef ?? order.clOrdId,
    fields: [],
    more: true,
  },
  venue: ofField('Venue id', 'id', 'venueOrderId', true),
  command: ofField('Command', 'id', 'commandId', true),
  placed: ofField('Placed by', 'note', 'placedBy', true),
  origin: { label: 'Origin', kind: 'note', value: ({ order }) => order.origin, fields: ['origin', 'callerRef'] },
  order: { label: 'Order', kind: 'id', value: ({ orderId }) => orderId, fields: [] },
} as const satisfies Readonly<Record<string, Column>>;
export type ColumnName = keyof typeof orderColumns;

export const columnNames = Object.keys(orderColumns) as readonly ColumnName[];

/** The column's properties, in one shape for all. */
export const columnOf = (name: ColumnName): Column => orderColumns[name];

export const isAmount = (name: ColumnName): boolean => ['quantity', 'price', 'money'].includes(orderColumns[name].kind);

/** An option's contract is for 100 shares. */
const contractShares = 100n;

/**
 * An order's value, in units and to the cent, since averages are rounded: its fills at their
 * average, and the rest at its price; of an order for money at work, the money. Undefined if one
 * has no price.
 */
export function valueUnits(row: OrderRow): bigint | undefined {
  const { instrument, cumQty, leavesQty, avgPrice, price, working, notional } = row.order;
  if (leavesQty === undefined) return unitsOf(notional);
  const filled = productUnits(cumQty, avgPrice);
  const left = productUnits(leavesQty, working.price ?? price);
  const shares = instrument.kind === 'option' ? contractShares : 1n;
  return filled === undefined || left === undefined ? undefined : roundUnits((filled + left) * shares, 2, 80);
}

/** An average has so many decimals more than its instrument's prices; more say nothing. */
const morePlaces = 2;

/** As a cell shows it: an average is rounded. `places`: its instrument's prices have so many. */
export function shownValue(name: ColumnName, row: OrderRow, places: number): string | undefined {
  const text = columnOf(name).value(row);
  return name === 'average' ? roundedAverage(text, places) : text;
}

export function roundedAverage(text: string | undefined, places: number): string | undefined {
  const units = unitsOf(text);
  return units === undefined ? text : textOfUnits(roundUnits(units, places + morePlaces));
}

function valueText(row: OrderRow): string | undefined {
  const units = valueUnits(row);
  return units === undefined ? undefined : textOfUnits(units);
}
