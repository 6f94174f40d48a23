import {
  type Instrument,
  type Leg,
  type OrderStatus,
  type OrderView,
  orderStatuses,
  orderWord,
  statusWord,
  type Whole,
} from '../../domain/order.ts';
import { canonicalSymbol, contractRoot, optionRoot, shortestContract } from '../../domain/symbol.ts';
import { type RowReader, readLegs, wordTable } from '../row-reader.ts';
import type { OrderDecoder } from '../venue.ts';
import { accountOrderItem } from './wire/account-order.ts';

const knownAccountFields: ReadonlySet<string> = new Set(Object.keys(accountOrderItem.shape));

/** They show a request, and not the order's status. */
const pendingActions = wordTable({ pending_cancel: 'cancel', pending_replace: 'replace' });
const accountStatuses: ReadonlySet<string> = new Set(orderStatuses);

export const accountOrders: OrderDecoder = {
  names: { orderId: 'ordId', status: 'ordStatus', accountId: 'accountId' },
  decode: (row, { accountId }) => ({ view: readView(row, accountId) }),
};

/**
 * An equity or option order of the platform → the normalised view (platform specification,
 * "Events"). Events name their account in the target only, so it is passed in. Account orders have
 * no working terms of their own: they repeat the terms.
 */
function readView(row: RowReader, accountId: string): Whole<OrderView> {
  const word = statusWord(row.text('ordStatus'));
  const known = accountStatuses.has(word) ? (word as OrderStatus) : 'unknown';
  const quantity = row.quantity('qty');
  const cumQty = row.filled('cumQty', 'leavesQty', quantity, known);
  const orderType = row.word('type');
  const price = hasNoPrice.has(orderType) ? row.nonZero('price') : row.optionalDecimal('price');
  const stopPrice = row.nonZero('stopPrice');
  const averagePrice = row.carriedDecimal('avgPrice');
  const pendingAction = pendingActions.get(word);
  const status = pendingAction === undefined ? known : cumQty === '0' ? 'new' : 'partially_filled';
  const instrument = readInstrument(row);
  const text = row.carriedText('text');
  const statusText = status === 'rejected' ? undefined : text;
  return {
    stream: 'account',
    orderId: row.id('ordId'),
    accountId: row.optionalId('accountId') ?? accountId,
    instrument,
    side: sideOf(row, instrument),
    orderType,
    timeInForce: row.word('timeInForce'),
    status,
    statusRaw: word.toUpperCase(),
    certainty: 'certain',
    certaintyReason: undefined,
    pendingAction: pendingAction ?? 'none',
    quantity,
    notional: undefined,
    price,
    stopPrice,
    working: price === undefined ? { quantity, orderType } : { quantity, price, orderType },
    cumQty,
    leavesQty: row.leaves('leavesQty', quantity, cumQty, status),
    avgPrice: cumQty === '0' ? undefined : averagePrice,
    clOrdId: row.carriedText('clOrdId'),
    clientOrderRef: undefined,
    venueOrderId: undefined,
    replaces: undefined,
    replacedBy: undefined,
    placedBy: undefined,
    rejectReason: row.carriedText('ordRejReason'),
    rejectText: status === 'rejected' ? text : undefined,
    createdAt: row.carriedInstant('createdAt'),
    updatedAt: row.instant('updatedAt'),
    sentAt: undefined,
    firstAckAt: undefined,
    closedAt: undefined,
    expireTime: undefined,
    // `text` is a status message on every order; only on a rejected one is it the reason.
    extra:
      statusText === undefined ? row.extra(knownAccountFields) : { ...row.extra(knownAccountFields), text: statusText },
  };
}

const hasNoPrice: ReadonlySet<string> = new Set(['market', 'stop']);

/** Several legs each have a side, and the order as a whole may have none. */
function sideOf(row: RowReader, { legs = [] }: Instrument): string {
  return legs.length > 1 ? row.word('side') : orderWord(row.text('side'));
}

/** Several legs may come without a symbol over them: then it is the underlying of the first one. */
function readInstrument(row: RowReader): Instrument {
  const legs = readLegs(row, legOf);
  const [first] = legs;
  const told = first === undefined || legs.length < 2 ? row.text('symbol') : row.carriedText('symbol');
  const symbol = told === undefined ? contractRoot(first?.symbol ?? '') : canonicalSymbol(told);
  const type = row.word('securityType');
  const isOption =
    legs.length > 0 ||
    row.word('category').startsWith('option') ||
    type.startsWith('opt') ||
    type === 'mleg' ||
    (symbol.length >= shortestContract && optionRoot(symbol) !== undefined);
  if (!isOption) return { kind: 'equity', symbol };
  return legs.length === 0 ? { kind: 'option', symbol } : { kind: 'option', symbol, legs };
}

function legOf(leg: RowReader): Leg {
  const positionEffect = leg.carriedText('positionEffect');
  return {
    symbol: canonicalSymbol(leg.text('symbol')),
    side: leg.word('side'),
    ratioQty: leg.optionalQuantity('ratioQty') ?? '1',
    ...(positionEffect !== undefined && { positionEffect: orderWord(positionEffect) }),
  };
}
