import { createMetrics } from '../../src/observability/metrics.ts';
import {
  cancelOrder,
  cancelPredictionOrder,
  placeOrder,
  placePredictionOrder,
  replacePredictionOrder,
} from '../../src/platform/order-writes.ts';
import { SocketWriteLines, type SocketWriteOptions } from '../../src/platform/socket-write-lines.ts';
import type { TokenSource } from '../../src/platform/token-source.ts';
import type { WriteDeps, WriteOptions } from '../../src/platform/write-platform.ts';
import type { WriteResult } from '../../src/platform/write-result.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { Secret } from '../../src/runtime/secret.ts';
import { accountRow, predictionRow, rowText } from './platform-rows.ts';

/** A token that never ends, counted each time it is asked for. */
export function fixedToken(token = 'a-token'): TokenSource & { renewals: number } {
  const held = { secret: new Secret(token), generation: 7, expiresAtMs: Number.MAX_SAFE_INTEGER };
  const source = {
    renewals: 0,
    get: async () => ({ ok: true as const, token: held }),
    async renew() {
      source.renewals += 1;
      return { ok: true as const, token: held };
    },
    onRenewed: () => () => undefined,
  };
  return source;
}

export function writeDeps(tokens: TokenSource = fixedToken(), options: SocketWriteOptions = {}): WriteDeps {
  const lines = new SocketWriteLines({ clock: systemClock }, options);
  return { lines, clock: systemClock, tokens, metrics: createMetrics().platform };
}

export const equity = {
  accountId: 'acct-1',
  symbol: 'AAPL',
  side: 'BUY',
  type: 'LIMIT',
  qty: '100',
  timeInForce: 'DAY',
  price: '191.5',
  clientId: 'client-1',
} as const;

export const prediction = {
  accountId: 'acct-1',
  symbol: 'FED-CUT',
  outcome: 'YES',
  side: 'buy',
  orderType: 'limit',
  timeInForce: 'gtc',
  quantity: '10',
  price: '0.40',
  clientOrderRef: 'ref-1',
} as const;

const predictionId = String(predictionRow['orderId']);
const predictionAnswer = `{"success":true,"data":${rowText({ ...predictionRow, clientOrderRef: 'ref-1' }, '9007199254740993')}}`;
const orderAnswer = {
  success: true,
  clOrdId: 'client-1',
  status: 'NEW',
  symbol: 'AAPL',
  side: 'BUY',
  qty: '100',
  cumQty: '0',
  leavesQty: '100',
  avgPrice: '0',
  transactTime: '2026-11-21T14:30:01.000Z',
};

export interface WriteCase {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  /** The body of a good answer. */
  readonly answer: string;
  readonly isPrediction: boolean;
  run(deps: WriteDeps, baseUrl: string, options?: WriteOptions): Promise<WriteResult<unknown>>;
}

/** Every write that the client can make, with a good answer to it. */
export const writes: Readonly<Record<string, WriteCase>> = {
  placeOrder: {
    method: 'POST',
    path: '/v1/orders',
    status: 200,
    answer: JSON.stringify(orderAnswer),
    isPrediction: false,
    run: (deps, baseUrl, options) => placeOrder(deps, baseUrl, equity, options),
  },
  cancelOrder: {
    method: 'DELETE',
    path: '/v1/orders/ord-1?accountId=acct-1',
    status: 202,
    answer: rowText(accountRow),
    isPrediction: false,
    run: (deps, baseUrl, options) => cancelOrder(deps, baseUrl, 'acct-1', 'ord-1', options),
  },
  placePredictionOrder: {
    method: 'POST',
    path: '/v1/predictions/orders',
    status: 202,
    answer: predictionAnswer,
    isPrediction: true,
    run: (deps, baseUrl, options) => placePredictionOrder(deps, baseUrl, prediction, options),
  },
  replacePredictionOrder: {
    method: 'PATCH',
    path: `/v1/predictions/orders/${predictionId}`,
    status: 202,
    answer: predictionAnswer,
    isPrediction: true,
    run: (deps, baseUrl, options) =>
      replacePredictionOrder(deps, baseUrl, predictionId, { accountId: 'acct-1', price: '0.45' }, options),
  },
  cancelPredictionOrder: {
    method: 'DELETE',
    path: `/v1/predictions/orders/${predictionId}?accountId=acct-1`,
    status: 202,
    answer: predictionAnswer,
    isPrediction: true,
    run: (deps, baseUrl, options) => cancelPredictionOrder(deps, baseUrl, 'acct-1', predictionId, options),
  },
};
