import { sameInstrument } from './identity.ts';
import { compareInstants } from './instant.ts';
import type { Order, WorkingTerms } from './order.ts';

type Comparison = 'value' | 'instant' | 'instrument' | 'working' | 'never';

/**
 * How each top-level field of an order is compared: a record over every field, so that a new one cannot be forgotten. `extra` holds what we don't
 * know and is carried without being compared; stream and orderId are the key.
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

export type OrderField = keyof Order;

/** All fields but the key and `extra`, in the order in which `changed` names them. */
export const comparedFields: readonly OrderField[] = (Object.keys(comparisons) as OrderField[]).filter(
  (field) => comparisons[field] !== 'never',
);

/** Whether two orders agree in a field by value. Decimals are canonical, so text decides; `…00Z` and `…00.000Z` are the same instant. */
export function sameField(field: OrderField, a: Order, b: Order): boolean {
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
