import { averageOfRest, compareDecimals, parseDecimal, subtractDecimals } from './decimal.ts';
import type { Fill } from './head.ts';
import { compareInstants, sameToCoarser } from './instant.ts';
import type { Order, WorkingTerms } from './order.ts';
import { contradictsInstrument, sameInstrument } from './view-content.ts';

type OrderField = keyof Order;

/**
 * The top-level fields that differ by value between two orders, in the order of the normalised one;
 * for a first revision (`before` undefined) all that are present. Stream and orderId are the key,
 * and `extra` is carried without being compared. Written out: a loop over names took 1.4 µs more an
 * update.
 */
export function changedFields(before: Order | undefined, after: Order): OrderField[] {
  const changed: OrderField[] = [];
  addChangedTerms(changed, before ?? nothing, after);
  addChangedHistory(changed, before ?? nothing, after);
  return changed;
}

/** No field of it is there. */
const nothing: { readonly [K in OrderField]?: undefined } = {};

type Before = Order | typeof nothing;

function addChangedTerms(changed: OrderField[], a: Before, b: Order): void {
  if (a.accountId !== b.accountId) changed.push('accountId');
  if (a.instrument === undefined || !sameInstrument(a.instrument, b.instrument)) changed.push('instrument');
  if (a.side !== b.side) changed.push('side');
  if (a.orderType !== b.orderType) changed.push('orderType');
  if (a.timeInForce !== b.timeInForce) changed.push('timeInForce');
  if (a.status !== b.status) changed.push('status');
  if (a.statusRaw !== b.statusRaw) changed.push('statusRaw');
  if (a.certainty !== b.certainty) changed.push('certainty');
  if (a.certaintyReason !== b.certaintyReason) changed.push('certaintyReason');
  if (a.pendingAction !== b.pendingAction) changed.push('pendingAction');
  if (a.quantity !== b.quantity) changed.push('quantity');
  if (a.price !== b.price) changed.push('price');
  if (a.stopPrice !== b.stopPrice) changed.push('stopPrice');
  if (!sameWorking(a.working, b.working)) changed.push('working');
  if (a.cumQty !== b.cumQty) changed.push('cumQty');
  if (a.leavesQty !== b.leavesQty) changed.push('leavesQty');
  if (a.avgPrice !== b.avgPrice) changed.push('avgPrice');
}

function addChangedHistory(changed: OrderField[], a: Before, b: Order): void {
  if (a.origin !== b.origin) changed.push('origin');
  if (!sameInstant(a.updatedAt, b.updatedAt)) changed.push('updatedAt');
  if (a.clOrdId !== b.clOrdId) changed.push('clOrdId');
  if (a.clientOrderRef !== b.clientOrderRef) changed.push('clientOrderRef');
  if (a.venueOrderId !== b.venueOrderId) changed.push('venueOrderId');
  if (a.placedBy !== b.placedBy) changed.push('placedBy');
  if (a.commandId !== b.commandId) changed.push('commandId');
  if (a.callerRef !== b.callerRef) changed.push('callerRef');
  if (a.sourceEpoch !== b.sourceEpoch) changed.push('sourceEpoch');
  if (a.rejectReason !== b.rejectReason) changed.push('rejectReason');
  if (a.rejectText !== b.rejectText) changed.push('rejectText');
  if (!sameInstant(a.createdAt, b.createdAt)) changed.push('createdAt');
  if (!sameInstant(a.sentAt, b.sentAt)) changed.push('sentAt');
  if (!sameInstant(a.firstAckAt, b.firstAckAt)) changed.push('firstAckAt');
  if (!sameInstant(a.closedAt, b.closedAt)) changed.push('closedAt');
  if (!sameInstant(a.expireTime, b.expireTime)) changed.push('expireTime');
  if (a.conflict !== b.conflict) changed.push('conflict');
}

/** Decimals are canonical, so text decides; `…00Z` and `…00.000Z` are the same instant. */
function sameInstant(a: string | undefined, b: string | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && compareInstants(a, b) === 0);
}

function sameWorking(a: WorkingTerms | undefined, b: WorkingTerms): boolean {
  return a === b || (a?.quantity === b.quantity && a.price === b.price && a.orderType === b.orderType);
}

const instantFields: ReadonlySet<OrderField> = new Set([
  'updatedAt',
  'createdAt',
  'sentAt',
  'firstAckAt',
  'closedAt',
  'expireTime',
]);

/**
 * Like `changedFields`, over the fields both have: a field one source leaves out does not
 * contradict the other, nor does an instant with other digits of the second.
 */
export function contradictedFields(before: Order, after: Order): OrderField[] {
  return changedFields(before, after).filter((field) => {
    if (field === 'working') return workingContradicts(before.working, after.working);
    if (field === 'instrument') return contradictsInstrument(before.instrument, after.instrument);
    const [a, b] = [before[field], after[field]];
    if (instantFields.has(field)) return a !== undefined && b !== undefined && !sameToCoarser(String(a), String(b));
    return a !== undefined && b !== undefined;
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
