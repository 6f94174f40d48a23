import type { OrderStatus, OrderView } from '../domain/order.ts';
import { parseVersion } from '../domain/version.ts';
import { predictionOrder, predictionStates } from '../platform/wire/prediction-order.ts';
import type { DecodedOrder, ViewUnderWay } from './decoded-order.ts';
import type { RowReader } from './row-reader.ts';

const known: ReadonlySet<string> = new Set(Object.keys(predictionOrder.shape));
const statuses: ReadonlySet<string> = new Set(predictionStates);

/**
 * A prediction order of the platform → the normalised view (platform specification, "Prediction order"). On the stream `version` is required: without
 * it nothing says what the event may replace.
 */
export function decodePredictionOrder(row: RowReader, version: unknown, versionRequired: boolean): DecodedOrder {
  const view = readView(row);
  const sourceVersion = readVersion(row, version, versionRequired);
  return sourceVersion === undefined ? { view } : { view, sourceVersion };
}

function readVersion(row: RowReader, version: unknown, required: boolean): bigint | undefined {
  if (version === undefined) {
    if (required) row.fail('version', 'missing_version', 'an int64');
    return undefined;
  }
  const parsed = typeof version === 'string' ? parseVersion(version) : undefined;
  if (parsed === undefined) row.fail('version', 'bad_version', 'an int64 from 0 on');
  return parsed;
}

function readView(row: RowReader): OrderView {
  const state = row.text('state');
  const cumQty = row.quantity('cumQty');
  const averagePrice = row.optionalDecimal('avgPx');
  const price = row.optionalDecimal('price');
  const stopPrice = row.optionalDecimal('stopPx');
  const workingPrice = row.optionalDecimal('workingPrice');
  const workingOrderType = row.optionalText('workingOrderType')?.toLowerCase();
  const view: ViewUnderWay = {
    stream: 'prediction',
    orderId: row.id('orderId'),
    accountId: row.id('accountId'),
    instrument: { kind: 'prediction', symbol: row.text('symbol'), outcome: row.text('outcome') },
    side: row.text('side'),
    orderType: row.text('orderType').toLowerCase(),
    timeInForce: row.text('timeInForce').toLowerCase(),
    status: statuses.has(state) ? (state as OrderStatus) : 'unknown',
    statusRaw: state,
    certainty: row.optionalText('certainty') ?? 'certain',
    pendingAction: row.optionalText('pendingAction') ?? 'none',
    quantity: row.quantity('quantity'),
    working: {
      quantity: row.quantity('workingQuantity'),
      ...(workingPrice !== undefined && { price: workingPrice }),
      ...(workingOrderType !== undefined && { orderType: workingOrderType }),
    },
    cumQty,
    leavesQty: row.quantity('leavesQty'),
    updatedAt: row.instant('updatedAt'),
    createdAt: row.instant('createdAt'),
  };
  if (price !== undefined) view.price = price;
  if (stopPrice !== undefined) view.stopPrice = stopPrice;
  // The table calls avgPx required, its text says that optional decimals are never zero: a zero before the first fill is no price.
  if (averagePrice !== undefined && cumQty !== '0') view.avgPrice = averagePrice;
  for (const field of optionalTexts) {
    const value = row.optionalText(field);
    if (value !== undefined) view[field] = value;
  }
  for (const field of optionalInstants) {
    const value = row.optionalInstant(field);
    if (value !== undefined) view[field] = value;
  }
  const extra = row.extra(known);
  if (extra !== undefined) view.extra = extra;
  return view;
}

/** Fields that keep their name and their text. */
const optionalTexts = [
  'certaintyReason',
  'clOrdId',
  'clientOrderRef',
  'venueOrderId',
  'placedBy',
  'rejectReason',
  'rejectText',
] as const;
const optionalInstants = ['sentAt', 'firstAckAt', 'closedAt', 'expireTime'] as const;
