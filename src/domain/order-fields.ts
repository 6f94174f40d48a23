import { averageOfRest, compareDecimals, parseDecimal, subtractDecimals } from './decimal.ts';
import type { Fill } from './head.ts';
import { compareInstants } from './instant.ts';
import type { Order, WorkingTerms } from './order.ts';
import { contradictsInstrument, sameInstrument } from './view-content.ts';

type Comparison = 'value' | 'instant' | 'instrument' | 'working' | 'never';

/**
 * How each top-level field of an order is compared. It is a record over every field, so a new one
 * cannot be forgotten. `extra` holds the fields we don't know and is carried without being
 * compared; stream and orderId are the key.
 */
const comparisons: Readonly<Record<keyof Order, Comparison>> = {
  stream: 'never',
  orderId: 'never',
  accountId: 'value',
  instrument: 'instrument',
  side: 'value',
  orderType: 'value',
  timeInForce: 'value',
  status: 'value',
  statusRaw: 'value',
  certainty: 'value',
  certaintyReason: 'value',
  pendingAction: 'value',
  quantity: 'value',
  price: 'value',
  stopPrice: 'value',
  working: 'working',
  cumQty: 'value',
  leavesQty: 'value',
  avgPrice: 'value',
  origin: 'value',
  updatedAt: 'instant',
  clOrdId: 'value',
  clientOrderRef: 'value',
  venueOrderId: 'value',
  placedBy: 'value',
  commandId: 'value',
  callerRef: 'value',
  sourceEpoch: 'value',
  rejectReason: 'value',
  rejectText: 'value',
  createdAt: 'instant',
  sentAt: 'instant',
  firstAckAt: 'instant',
  closedAt: 'instant',
  expireTime: 'instant',
  conflict: 'value',
  extra: 'never',
};

type OrderField = keyof Order;

/** All fields but the key and `extra`, in the order `changed` names them. */
const comparedFields: readonly OrderField[] = (Object.keys(comparisons) as OrderField[]).filter(
  (field) => comparisons[field] !== 'never',
);

/**
 * Whether two orders agree in a field by value. Decimals are canonical, so text decides; `…00Z` and
 * `…00.000Z` are the same instant.
 */
function sameField(field: OrderField, a: Order, b: Order): boolean {
  if (a[field] === b[field]) return true;
  const comparison = comparisons[field];
  if (comparison === 'instant') return sameInstant(a[field], b[field]);
  if (comparison === 'working') return sameWorking(a.working, b.working);
  return comparison === 'instrument' && sameInstrument(a.instrument, b.instrument);
}

function sameInstant(a: unknown, b: unknown): boolean {
  return typeof a === 'string' && typeof b === 'string' && compareInstants(a, b) === 0;
}

function sameWorking(a: WorkingTerms, b: WorkingTerms): boolean {
  return a.quantity === b.quantity && a.price === b.price && a.orderType === b.orderType;
}

/**
 * The top-level fields that differ by value between two orders; for a first revision (`before`
 * undefined) all that are present.
 */
export function changedFields(before: Order | undefined, after: Order): OrderField[] {
  if (before === undefined) return comparedFields.filter((field) => after[field] !== undefined);
  const changed: OrderField[] = [];
  for (const field of comparedFields) {
    if (before[field] !== after[field] && !sameField(field, before, after)) changed.push(field);
  }
  return changed;
}

/**
 * Like `changedFields`, over the fields both have: a field one source leaves out does not
 * contradict the other.
 */
export function contradictedFields(before: Order, after: Order): OrderField[] {
  return changedFields(before, after).filter((field) => {
    if (field === 'working') return workingContradicts(before.working, after.working);
    if (field === 'instrument') return contradictsInstrument(before.instrument, after.instrument);
    return before[field] !== undefined && after[field] !== undefined;
  });
}

function workingContradicts(a: WorkingTerms, b: WorkingTerms): boolean {
  const differ = (x: string | undefined, y: string | undefined) => x !== undefined && y !== undefined && x !== y;
  return differ(a.quantity, b.quantity) || differ(a.price, b.price) || differ(a.orderType, b.orderType);
}

/**
 * The rise of cumQty between two revisions, or undefined if it did not rise (a correction takes
 * back; it is not a fill with a negative size).
 *
 * The price is exact arithmetic on the platform's values: (avgPrice · cumQty − earlier avgPrice ·
 * earlier cumQty) / rise, with the averages' rounding taken back (`averageOfRest`). It is left out
 * if either average is missing, or if rounding or a price correction would make it nonsense
 * (another sign than the average's).
 */
export function deriveFill(before: Order | undefined, after: Order, inferred: boolean): Fill | undefined {
  const earlierQty = before?.cumQty ?? '0';
  if (compareDecimals(after.cumQty, earlierQty) <= 0) return undefined;
  const quantity = subtractDecimals(after.cumQty, earlierQty);
  const price = fillPrice(before, after);
  return price === undefined ? { quantity, inferred } : { quantity, price, inferred };
}

function fillPrice(before: Order | undefined, after: Order): string | undefined {
  const average = after.avgPrice;
  if (average === undefined) return undefined;
  if (before === undefined || before.cumQty === '0' || before.avgPrice === average) return average;
  if (before.avgPrice === undefined) return undefined;
  const price = averageOfRest(
    { quantity: after.cumQty, average },
    { quantity: before.cumQty, average: before.avgPrice },
  );
  const withinLimits = parseDecimal(price);
  return withinLimits !== undefined && compareDecimals(withinLimits, '0') === compareDecimals(average, '0')
    ? price
    : undefined;
}
