import {
  type OrderStatus,
  type OrderView,
  orderWord,
  parseVersion,
  statusWord,
  type Whole,
} from '../../domain/order.ts';
import { canonicalSymbol } from '../../domain/symbol.ts';
import type { RowReader } from '../row-reader.ts';
import type { OrderDecoder } from '../venue.ts';
import { predictionOrder, predictionStates } from './wire/prediction-order.ts';

const knownPredictionFields: ReadonlySet<string> = new Set(Object.keys(predictionOrder.shape));
const predictionStatuses: ReadonlySet<string> = new Set(predictionStates);

/**
 * A prediction order of the platform → the normalised view (platform specification,
 * "Prediction order"). On the stream `version` is required: without it the place of the
 * event in the order's history is not known.
 */
export const predictionOrders: OrderDecoder = {
  names: { orderId: 'orderId', status: 'state', accountId: 'accountId' },
  decode(row, { accountId, isEvent }) {
    const view = readView(row, accountId);
    const sourceVersion = readVersion(row, isEvent);
    return sourceVersion === undefined ? { view } : { view, sourceVersion };
  },
};

function readVersion(row: RowReader, required: boolean): bigint | undefined {
  const version = row.found('version');
  if (version === undefined || version === null || version === '') {
    if (required) row.fail('version', 'missing_version', 'an int64');
    return undefined;
  }
  const parsed = typeof version === 'string' ? parseVersion(version) : undefined;
  if (parsed === undefined) row.fail('version', 'bad_version', 'an int64 from 0 on');
  return parsed;
}

function readView(row: RowReader, accountId: string): Whole<OrderView> {
  const word = statusWord(row.text('state'));
  const status = predictionStatuses.has(word) ? (word as OrderStatus) : 'unknown';
  const quantity = row.quantity('quantity');
  const working = row.optionalQuantity('workingQuantity') ?? quantity;
  const cumQty = row.filled('cumQty', 'leavesQty', working, status);
  const averagePrice = row.carriedDecimal('avgPx');
  const price = row.nonZero('price');
  const stopPrice = row.nonZero('stopPx');
  const workingPrice = row.nonZero('workingPrice');
  const workingOrderType = row.carriedText('workingOrderType');
  return {
    stream: 'prediction',
    orderId: row.id('orderId'),
    accountId: row.optionalId('accountId') ?? accountId,
    instrument: {
      kind: 'prediction',
      symbol: canonicalSymbol(row.text('symbol')),
      outcome: row.text('outcome').toUpperCase(),
    },
    side: orderWord(row.text('side')),
    orderType: row.word('orderType'),
    timeInForce: row.word('timeInForce'),
    status,
    statusRaw: word,
    certainty: orderWord(row.optionalText('certainty') ?? 'certain'),
    certaintyReason: row.carriedText('certaintyReason'),
    pendingAction: orderWord(row.optionalText('pendingAction') ?? 'none'),
    quantity,
    notional: undefined,
    price,
    stopPrice,
    working: {
      quantity: working,
      ...(workingPrice !== undefined && { price: workingPrice }),
      ...(workingOrderType !== undefined && { orderType: orderWord(workingOrderType) }),
    },
    cumQty,
    leavesQty: row.leaves('leavesQty', working, cumQty, status),
    // The table calls avgPx required, its text says that optional decimals are never zero: a zero
    // before the first fill is not a price.
    avgPrice: cumQty === '0' ? undefined : averagePrice,
    clOrdId: row.carriedText('clOrdId'),
    clientOrderRef: row.carriedText('clientOrderRef'),
    venueOrderId: row.carriedText('venueOrderId'),
    replaces: undefined,
    replacedBy: undefined,
    placedBy: row.carriedText('placedBy'),
    rejectReason: row.carriedText('rejectReason'),
    rejectText: row.carriedText('rejectText'),
    createdAt: row.carriedInstant('createdAt'),
    updatedAt: row.instant('updatedAt'),
    sentAt: row.carriedInstant('sentAt'),
    firstAckAt: row.carriedInstant('firstAckAt'),
    closedAt: row.carriedInstant('closedAt'),
    expireTime: row.carriedInstant('expireTime'),
    extra: row.extra(knownPredictionFields),
  };
}
