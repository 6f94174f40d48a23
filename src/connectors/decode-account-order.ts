import type { Instrument, Leg, OrderStatus } from '../domain/order.ts';
import { accountOrderItem } from '../platform/wire/account-order.ts';
import type { DecodedOrder, ViewUnderWay } from './decoded-order.ts';
import { RowReader } from './row-reader.ts';

const known: ReadonlySet<string> = new Set(Object.keys(accountOrderItem.shape));
const maxLegs = 16;

/** PENDING_CANCEL and PENDING_REPLACE are missing on purpose: they say what was asked for, not where the order stands. */
const statuses: ReadonlyMap<string, OrderStatus> = new Map([
  ['PENDING_NEW', 'pending_new'],
  ['NEW', 'new'],
  ['PARTIALLY_FILLED', 'partially_filled'],
  ['FILLED', 'filled'],
  ['CANCELED', 'canceled'],
  ['REPLACED', 'replaced'],
  ['REJECTED', 'rejected'],
  ['EXPIRED', 'expired'],
  ['DONE_FOR_DAY', 'done_for_day'],
  ['SUSPENDED', 'suspended'],
]);
const pendingActions: ReadonlyMap<string, string> = new Map([
  ['PENDING_CANCEL', 'cancel'],
  ['PENDING_REPLACE', 'replace'],
]);

/**
 * An equity or option order of the platform → the normalised view (platform specification, "Events"). Events name their account in the target only,
 * so it is passed in. Account orders have no working terms of their own: they repeat the terms.
 */
export function decodeAccountOrder(row: RowReader, accountId: string): DecodedOrder {
  const raw = row.text('ordStatus');
  const cumQty = row.quantity('cumQty');
  const quantity = row.quantity('qty');
  const price = row.optionalDecimal('price');
  const stopPrice = row.optionalDecimal('stopPrice');
  const averagePrice = row.optionalDecimal('avgPrice');
  const orderType = row.text('type').toLowerCase();
  const status = statusOf(raw, cumQty);
  const view: ViewUnderWay = {
    stream: 'account',
    orderId: row.id('ordId'),
    accountId: row.optionalId('accountId') ?? accountId,
    instrument: readInstrument(row),
    side: row.text('side'),
    orderType,
    timeInForce: row.text('timeInForce').toLowerCase(),
    status,
    statusRaw: raw,
    certainty: 'certain',
    pendingAction: pendingActions.get(raw) ?? 'none',
    quantity,
    working: { quantity, ...(price !== undefined && { price }), orderType },
    cumQty,
    leavesQty: row.quantity('leavesQty'),
    updatedAt: row.instant('updatedAt'),
  };
  if (price !== undefined) view.price = price;
  if (stopPrice !== undefined) view.stopPrice = stopPrice;
  if (averagePrice !== undefined && cumQty !== '0') view.avgPrice = averagePrice;
  readOptional(row, view, status);
  return { view };
}

function readOptional(row: RowReader, view: ViewUnderWay, status: OrderStatus): void {
  const clOrdId = row.optionalText('clOrdId');
  const createdAt = row.optionalInstant('createdAt');
  const text = row.optionalText('text');
  const reason = row.optionalText('ordRejReason');
  const extra = row.extra(known);
  if (clOrdId !== undefined) view.clOrdId = clOrdId;
  if (createdAt !== undefined) view.createdAt = createdAt;
  if (reason !== undefined) view.rejectReason = reason;
  // `text` is a status message on every order; only on a rejected one is it the reason.
  if (text !== undefined && status === 'rejected') view.rejectText = text;
  else if (text !== undefined) view.extra = { ...extra, text };
  if (extra !== undefined && view.extra === undefined) view.extra = extra;
}

function statusOf(raw: string, cumQty: string): OrderStatus {
  if (pendingActions.has(raw)) return cumQty === '0' ? 'new' : 'partially_filled';
  return statuses.get(raw) ?? 'unknown';
}

function readInstrument(row: RowReader): Instrument {
  const symbol = row.text('symbol');
  const legs = readLegs(row);
  const isOption =
    legs.length > 0 ||
    row.optionalText('category') === 'option' ||
    ['OPT', 'MLEG'].includes(row.optionalText('securityType') ?? '');
  if (!isOption) return { kind: 'equity', symbol };
  return legs.length === 0 ? { kind: 'option', symbol } : { kind: 'option', symbol, legs };
}

function readLegs(row: RowReader): Leg[] {
  const items = row.list('legs', maxLegs);
  return items.map((item) => {
    const leg = new RowReader(item);
    const positionEffect = leg.optionalText('positionEffect');
    const decoded = {
      symbol: leg.text('symbol'),
      side: leg.text('side'),
      ratioQty: leg.quantity('ratioQty'),
      ...(positionEffect !== undefined && { positionEffect }),
    };
    if (leg.fault !== undefined) row.fail('legs', leg.fault.reason, `legs with ${leg.fault.detail}`);
    return decoded;
  });
}
