import { z } from 'zod';
import { isOrderId } from '../domain/order.ts';
import type { WriteReading } from './judge-write.ts';
import { type AccountOrderItem, accountOrderItem } from './wire/account-order.ts';
import { ordersPath, predictionOrderReply, predictionOrdersPath } from './wire/order-pages.ts';
import {
  type OrderRequest,
  type OrderResponse,
  orderRequest,
  orderResponse,
  type PredictionOrderRequest,
  predictionOrderRequest,
  type ReplaceRequest,
  replaceRequest,
} from './wire/order-writes.ts';
import type { PredictionOrderWire } from './wire/prediction-order.ts';
import { notSendable, type WriteDeps, type WriteOptions, writePlatform } from './write-platform.ts';
import type { WriteResult } from './write-result.ts';

/** Writes carry a reference, by which their order is found again. */
export type ReferencedOrder = OrderRequest & { readonly clientId: string };

/** `POST /v1/orders` (specification). Only 400, 401 and 403 say that nothing was done: no other status is documented. */
export async function placeOrder(
  deps: WriteDeps,
  baseUrl: string,
  order: ReferencedOrder,
  options: WriteOptions = {},
): Promise<WriteResult<OrderResponse>> {
  const body = orderRequest.required({ clientId: true }).safeParse(order);
  if (!body.success) return notSendable(z.prettifyError(body.error));
  const request = { method: 'POST', url: `${baseUrl}${ordersPath}`, body: JSON.stringify(body.data) } as const;
  return writePlatform(deps, 'place_order', request, readingOf(order), options);
}

function readingOf(order: ReferencedOrder): WriteReading<OrderResponse> {
  return {
    refusals: new Set([400]),
    promisesNotSent: false,
    read: (value) => {
      const response = orderResponse.safeParse(value);
      if (!response.success) return 'the answer has another shape than the specification says';
      const { clOrdId, symbol, side, success } = response.data;
      if (clOrdId !== order.clientId || symbol !== order.symbol || side !== order.side)
        return 'the answer is about another order';
      return { verdict: success ? 'accepted' : 'rejected', answer: response.data };
    },
  };
}

/** `DELETE /v1/orders/{ordId}?accountId=` (docs/platform-assumptions.md). `accepted`: the cancel was asked for; whether it happens is seen on the order. */
export async function cancelOrder(
  deps: WriteDeps,
  baseUrl: string,
  accountId: string,
  ordId: string,
  options: WriteOptions = {},
): Promise<WriteResult<AccountOrderItem>> {
  if (accountId === '' || !isOrderId('account', ordId))
    return notSendable('accountId and ordId must be ids that an order and its account can have');
  const url = `${baseUrl}${ordersPath}/${encodeURIComponent(ordId)}?${new URLSearchParams({ accountId })}`;
  return writePlatform(deps, 'cancel_order', { method: 'DELETE', url }, readingOfCancel(accountId, ordId), options);
}

function readingOfCancel(accountId: string, ordId: string): WriteReading<AccountOrderItem> {
  return {
    refusals: new Set([400, 404, 409]),
    promisesNotSent: false,
    read: (value) => {
      const item = accountOrderItem.safeParse(value);
      if (!item.success) return 'the answer has another shape than the contract says';
      if (item.data.ordId !== ordId || item.data.accountId !== accountId) return 'the answer is about another order';
      return { verdict: 'accepted', answer: item.data };
    },
  };
}

/** Writes carry a reference, by which their order is found again. */
export type ReferencedPredictionOrder = PredictionOrderRequest & { readonly clientOrderRef: string };

/** `POST /v1/predictions/orders` (docs/platform-assumptions.md), on staging. `accepted`: `pending_new`, the venue has not answered. */
export async function placePredictionOrder(
  deps: WriteDeps,
  baseUrl: string,
  order: ReferencedPredictionOrder,
  options: WriteOptions = {},
): Promise<WriteResult<PredictionOrderWire>> {
  const body = predictionOrderRequest.required({ clientOrderRef: true }).safeParse(order);
  if (!body.success) return notSendable(z.prettifyError(body.error));
  const { accountId, clientOrderRef, symbol, outcome, side } = body.data;
  const request = { method: 'POST', url: `${baseUrl}${predictionOrdersPath}`, body: JSON.stringify(body.data) } as const;
  const reading = predictionReading({ accountId, clientOrderRef, symbol, outcome, side });
  return writePlatform(deps, 'place_prediction_order', request, reading, options);
}

/** `PATCH /v1/predictions/orders/{orderId}` (specification), on staging. `accepted`: seen pending, not yet applied. */
export async function replacePredictionOrder(
  deps: WriteDeps,
  baseUrl: string,
  orderId: string,
  terms: ReplaceRequest,
  options: WriteOptions = {},
): Promise<WriteResult<PredictionOrderWire>> {
  const body = replaceRequest.safeParse(terms);
  if (!body.success) return notSendable(z.prettifyError(body.error));
  if (!isOrderId('prediction', orderId)) return notSendable('orderId must be an id that an order can have');
  const url = `${baseUrl}${predictionOrdersPath}/${encodeURIComponent(orderId)}`;
  const request = { method: 'PATCH', url, body: JSON.stringify(body.data) } as const;
  const reading = predictionReading({ orderId, accountId: body.data.accountId });
  return writePlatform(deps, 'replace_prediction_order', request, reading, options);
}

/** `DELETE /v1/predictions/orders/{orderId}?accountId=` (docs/platform-assumptions.md), on staging. `accepted`: the cancel awaits the venue. */
export async function cancelPredictionOrder(
  deps: WriteDeps,
  baseUrl: string,
  accountId: string,
  orderId: string,
  options: WriteOptions = {},
): Promise<WriteResult<PredictionOrderWire>> {
  if (accountId === '' || !isOrderId('prediction', orderId))
    return notSendable('accountId and orderId must be ids that an order and its account can have');
  const url = `${baseUrl}${predictionOrdersPath}/${encodeURIComponent(orderId)}?${new URLSearchParams({ accountId })}`;
  const reading = predictionReading({ orderId, accountId });
  return writePlatform(deps, 'cancel_prediction_order', { method: 'DELETE', url }, reading, options);
}

/** Fields of the order by which an answer is known to be about it. */
type Identity = Partial<Pick<PredictionOrderWire, 'orderId' | 'accountId' | 'clientOrderRef' | 'symbol' | 'outcome' | 'side'>>;

/** The answers of the three writes of prediction orders (specification, "Prediction order errors"; docs/platform-assumptions.md: place and cancel answer alike). */
function predictionReading(identity: Identity): WriteReading<PredictionOrderWire> {
  return {
    refusals: new Set([400, 404, 409]),
    promisesNotSent: true,
    read: (value) => {
      const reply = predictionOrderReply.safeParse(value);
      if (!reply.success) return 'the answer has another shape than the specification says';
      const order = reply.data.data;
      const names = Object.keys(identity) as (keyof Identity)[];
      if (names.some((name) => order[name] !== identity[name])) return 'the answer is about another order';
      return { verdict: 'accepted', answer: order };
    },
  };
}
