import fc from 'fast-check';
import { handMadeOrder } from '../../../src/sandbox/control/open-by-hand.ts';
import { stocks } from '../../../src/sandbox/data/listings.ts';
import { isClosed } from '../../../src/sandbox/exchange/exchange-order.ts';
import type { RunningSandbox } from '../../../src/sandbox/start-sandbox.ts';
import { ordersPath, predictionOrdersPath } from '../../../src/venue/platform/wire/order-pages.ts';
import { orderRequest, predictionOrderRequest, replaceRequest } from '../../../src/venue/platform/wire/order-writes.ts';
import { accountQuery, type Endpoint } from '../platform/endpoint.ts';

type Terms = Record<string, unknown>;

const mine = fc.constant('SIM-1001');
/**
 * Decimals above zero, with a fraction or without, inside of
 * the limits of the account (10,000,000).
 */
const quantity = fc
  .tuple(fc.integer({ min: 1, max: 9_999_998 }), fc.integer({ min: 0, max: 999 }))
  .map(([units, thousandths]) => (thousandths === 0 ? `${units}` : `${units}.${String(thousandths).padStart(3, '0')}`));
const price = fc.integer({ min: 1, max: 100_000 }).map((cents) => (cents / 100).toFixed(2));
const probability = fc.integer({ min: 1, max: 99 }).map((cents) => (cents / 100).toFixed(2));
const ahead = fc.constantFrom('2099-12-31T00:00:00Z', '2080-02-29T12:00:00.000+02:00');
const symbol = fc.constantFrom(...stocks.map((stock) => stock.symbol));
/** Prediction markets. */
const market = fc.constantFrom('FED-CUT-DEC26', 'RAIN-NYC-25DEC');
/** What is left of a leg when the underlying is known. */
const leg = fc.record({
  symbol: fc
    .tuple(fc.constantFrom('C', 'P'), fc.integer({ min: 1, max: 900 }))
    .map(([right, strike]) => `281215${right}${String(strike * 1000).padStart(8, '0')}`),
  side: fc.constantFrom('BUY', 'SELL', 'SELL_SHORT', 'BUY_TO_COVER'),
  ratioQty: fc.constantFrom('1', '2', '10'),
  positionEffect: fc.constantFrom('OPEN', 'CLOSE'),
});

const common = { scope: 'order:execution', fresh: true } as const;

/** Order entry: POST and DELETE /v1/orders, POST, PATCH and DELETE /v1/predictions/orders. */
export const orderEntryEndpoints: readonly Endpoint[] = [
  {
    ...common,
    name: 'POST /v1/orders',
    method: 'POST',
    listener: 'platform',
    path: ordersPath,
    body: orderRequest,
    known: { accountId: mine, symbol, qty: quantity, price, stopPrice: price, legs: fc.array(leg, { maxLength: 4 }) },
    complete: completeOrder,
    accepted: [200],
    refused: () => ({ status: 400, code: 'INVALID_ORDER' }),
    tolerated: ['unheardOf additionalProperties'],
  },
  {
    ...common,
    name: 'DELETE /v1/orders/{ordId}',
    method: 'DELETE',
    listener: 'platform',
    path: (sandbox) => `${ordersPath}/${workingOrder(sandbox, 'account')}`,
    query: accountQuery,
    known: { accountId: mine },
    accepted: [202],
    refused: () => ({ status: 400, code: 'INVALID_ORDER' }),
  },
  {
    ...common,
    name: 'POST /v1/predictions/orders',
    method: 'POST',
    listener: 'staging',
    path: predictionOrdersPath,
    body: predictionOrderRequest,
    known: { accountId: mine, symbol: market, quantity, price: probability, stopPx: probability, expireTime: ahead },
    complete: completePrediction,
    accepted: [202],
    refused: refusedPrediction,
  },
  {
    ...common,
    name: 'PATCH /v1/predictions/orders/{orderId}',
    method: 'PATCH',
    listener: 'staging',
    path: (sandbox) => `${predictionOrdersPath}/${workingOrder(sandbox, 'prediction')}`,
    body: replaceRequest,
    known: { accountId: mine, quantity, price: probability, stopPx: probability, expireTime: ahead },
    complete: completeReplace,
    accepted: [202],
    refused: refusedPrediction,
  },
  {
    ...common,
    name: 'DELETE /v1/predictions/orders/{orderId}',
    method: 'DELETE',
    listener: 'staging',
    path: (sandbox) => `${predictionOrdersPath}/${workingOrder(sandbox, 'prediction')}`,
    query: accountQuery,
    known: { accountId: mine },
    accepted: [202],
    refused: refusedPrediction,
  },
];

function refusedPrediction(_field: string, keyword: string): { status: number; code: string } {
  return { status: 400, code: keyword === 'additionalProperties' ? 'UNKNOWN_FIELD' : 'INVALID_ORDER' };
}

/** Prices where the type needs them; legs on the order's symbol, the first on its side. */
function completeOrder({ price, stopPrice, legs, ...terms }: Terms): Terms {
  const type = String(terms['type']);
  const root = String(terms['symbol']).replace('.', '');
  const named = Array.isArray(legs)
    ? legs.map((it: { symbol: string; side: string }) => ({ ...it, symbol: `${root}${it.symbol}` }))
    : undefined;
  return {
    ...terms,
    ...(named?.[0] !== undefined && { side: named[0].side }),
    ...(named !== undefined && { legs: named }),
    ...(type.endsWith('LIMIT') && { price: price ?? '1.00' }),
    ...(type.startsWith('STOP') && { stopPrice: stopPrice ?? '1.00' }),
  };
}

function completePrediction({ price, stopPx, expireTime, ...terms }: Terms): Terms {
  const orderType = String(terms['orderType']);
  return {
    ...terms,
    ...(orderType.endsWith('limit') && { price: price ?? '0.50' }),
    ...(orderType.startsWith('stop') && { stopPx: stopPx ?? '0.50' }),
    ...(terms['timeInForce'] === 'gtd' && { expireTime: expireTime ?? '2099-01-01T00:00:00Z' }),
  };
}

/** The order that is replaced has no stop and ten contracts; at least the quantity changes. */
function completeReplace({ stopPx: _, expireTime, ...terms }: Terms): Terms {
  return {
    ...terms,
    quantity: terms['quantity'] === '10' ? '11' : (terms['quantity'] ?? '12'),
    ...(terms['timeInForce'] === 'gtd' && { expireTime: expireTime ?? '2099-01-01T00:00:00Z' }),
  };
}

/**
 * An order of SIM-1001 that can be replaced and cancelled: the
 * last one that was made here, or another.
 */
function workingOrder({ controls, parts }: RunningSandbox, stream: 'account' | 'prediction'): string {
  const clOrdId = `generated-${stream}`;
  const reference = stream === 'account' ? { clOrdId } : { clientOrderRef: clOrdId };
  const last = parts.exchange.byClientReference(clOrdId).at(-1);
  if (last !== undefined && !isClosed(last.state) && last.pendingAction === 'none') return last.terms.orderId;
  const terms = stream === 'account' ? { orderType: 'LIMIT', price: '1.00' } : { orderType: 'limit', price: '0.01' };
  const time = stream === 'account' ? 'GTC' : 'gtc';
  const made = { stream, accountId: 'SIM-1001', quantity: '10', timeInForce: time, ...terms, ...reference };
  const order = controls.openOrder(handMadeOrder.parse(made));
  if ('refused' in order) throw new Error(order.message);
  return order.terms.orderId;
}
