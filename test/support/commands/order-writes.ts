import type { CommandRequest } from '../../../src/domain/command.ts';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import { accountRow, predictionRow, rowText } from '../../../src/venue/platform/fixtures/rows.ts';
import { writeOrder } from '../../../src/venue/platform/order-writes.ts';
import { SocketWriteLines, type SocketWriteOptions } from '../../../src/venue/platform/socket-write-lines.ts';
import type { WriteDeps } from '../../../src/venue/platform/write-platform.ts';
import type { TokenSource } from '../../../src/venue/tokens.ts';
import type { WriteOptions, WriteResult } from '../../../src/venue/write-result.ts';

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
    taken: () => undefined,
    onRenewed: () => () => undefined,
  };
  return source;
}

export function writeDeps(tokens: TokenSource = fixedToken(), options: SocketWriteOptions = {}): WriteDeps {
  const lines = new SocketWriteLines({ clock: systemClock }, options);
  return { lines, clock: systemClock, tokens, metrics: createMetrics().platform };
}

const accountId = 'acct-1';
const equity = { symbol: 'AAPL', side: 'BUY', type: 'LIMIT', qty: '100', timeInForce: 'DAY', price: '191.5' };
const prediction = {
  symbol: 'FED-CUT',
  outcome: 'YES',
  side: 'buy',
  orderType: 'limit',
  timeInForce: 'gtc',
  quantity: '10',
  price: '0.40',
};

/** A write to both addresses, permitted unless `options` say otherwise. */
export function writeTo(
  deps: WriteDeps,
  baseUrl: string,
  request: CommandRequest,
  attemptId: string,
  options: Partial<WriteOptions> = {},
): Promise<WriteResult> {
  const { signal } = new AbortController();
  const permitted = { mayWrite: async () => true, mayStillWrite: () => true, signal, ...options };
  return writeOrder(deps, { platformUrl: baseUrl, stagingUrl: baseUrl }, request, attemptId, permitted);
}

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

interface WriteCase {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  /** The body of a good answer. */
  readonly answer: string;
  readonly isPrediction: boolean;
  run(deps: WriteDeps, baseUrl: string, options?: Partial<WriteOptions>): Promise<WriteResult>;
}

/** Every write that the client can make, with a good answer to it. */
export const writes: Readonly<Record<string, WriteCase>> = {
  placeOrder: {
    method: 'POST',
    path: '/v1/orders',
    status: 200,
    answer: JSON.stringify(orderAnswer),
    isPrediction: false,
    run: (deps, baseUrl, options) =>
      writeTo(deps, baseUrl, { kind: 'place', stream: 'account', accountId, terms: equity }, 'client-1', options),
  },
  cancelOrder: {
    method: 'DELETE',
    path: '/v1/orders/ord-1?accountId=acct-1',
    status: 202,
    answer: rowText(accountRow),
    isPrediction: false,
    run: (deps, baseUrl, options) =>
      writeTo(deps, baseUrl, { kind: 'cancel', stream: 'account', accountId, orderId: 'ord-1' }, 'cancel-1', options),
  },
  placePredictionOrder: {
    method: 'POST',
    path: '/v1/predictions/orders',
    status: 202,
    answer: predictionAnswer,
    isPrediction: true,
    run: (deps, baseUrl, options) =>
      writeTo(deps, baseUrl, { kind: 'place', stream: 'prediction', accountId, terms: prediction }, 'ref-1', options),
  },
  replacePredictionOrder: {
    method: 'PATCH',
    path: `/v1/predictions/orders/${predictionId}`,
    status: 202,
    answer: predictionAnswer,
    isPrediction: true,
    run: (deps, baseUrl, options) => {
      const terms = { price: '0.45' };
      const request = { kind: 'replace', stream: 'prediction', accountId, orderId: predictionId, terms } as const;
      return writeTo(deps, baseUrl, request, 'replace-1', options);
    },
  },
  cancelPredictionOrder: {
    method: 'DELETE',
    path: `/v1/predictions/orders/${predictionId}?accountId=acct-1`,
    status: 202,
    answer: predictionAnswer,
    isPrediction: true,
    run: (deps, baseUrl, options) =>
      writeTo(
        deps,
        baseUrl,
        { kind: 'cancel', stream: 'prediction', accountId, orderId: predictionId },
        'cancel-1',
        options,
      ),
  },
};
