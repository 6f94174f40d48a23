import type { CommandRequest, Reason } from '../../domain/command.ts';
import { cancelOrder } from '../../platform/cancel-order.ts';
import { cancelPredictionOrder } from '../../platform/cancel-prediction-order.ts';
import { placeOrder, type ReferencedOrder } from '../../platform/place-order.ts';
import { placePredictionOrder, type ReferencedPredictionOrder } from '../../platform/place-prediction-order.ts';
import { replacePredictionOrder } from '../../platform/replace-prediction-order.ts';
import type { AccountOrderItem } from '../../platform/wire/account-order.ts';
import type { OrderResponse } from '../../platform/wire/order-response.ts';
import type { PredictionOrderWire } from '../../platform/wire/prediction-order.ts';
import type { ReplaceRequest } from '../../platform/wire/replace-request.ts';
import type { WriteDeps, WriteOptions } from '../../platform/write-platform.ts';
import type { WriteResult } from '../../platform/write-result.ts';

export interface EntryAddresses {
  /** Production REST base: equity and option orders. */
  readonly platformUrl: string;
  /** REST base of prediction orders; left out where there is none. */
  readonly stagingUrl?: string;
}

export type WriteFailure = Extract<WriteResult<unknown>, { kind: 'failed' }>;

/** A write that was answered. `order`: the order as the answer shows it, where it does; `answer`: what is kept as evidence. */
export interface EntryAnswer {
  readonly kind: 'answered';
  readonly verdict: 'accepted' | 'rejected';
  readonly orderId?: string;
  readonly reason?: Reason;
  readonly answer: Readonly<Record<string, unknown>>;
  readonly order?: unknown;
}

export type WrittenRequest = WriteFailure | EntryAnswer | { readonly kind: 'not_sendable'; readonly reason: Reason };

/** The one write that a command asks for, to the address that takes it, with the attempt's id as our reference. */
export async function writeRequest(
  deps: WriteDeps,
  { platformUrl, stagingUrl }: EntryAddresses,
  request: CommandRequest,
  attemptId: string,
  options: WriteOptions,
): Promise<WrittenRequest> {
  const { accountId } = request;
  if (request.stream === 'account') {
    if (request.kind === 'cancel') return ofCancel(await cancelOrder(deps, platformUrl, accountId, request.orderId, options));
    // What is sent is checked against the wire's own shape, strictly, before a connection is made.
    const order = { ...request.terms, accountId, clientId: attemptId } as ReferencedOrder;
    return ofPlace(await placeOrder(deps, platformUrl, order, options));
  }
  if (stagingUrl === undefined) return { kind: 'not_sendable', reason: noAddress };
  if (request.kind === 'cancel')
    return ofPrediction(await cancelPredictionOrder(deps, stagingUrl, accountId, request.orderId, options));
  if (request.kind === 'replace') {
    const terms = { ...request.terms, accountId } as ReplaceRequest;
    return ofPrediction(await replacePredictionOrder(deps, stagingUrl, request.orderId, terms, options));
  }
  const order = { ...request.terms, accountId, clientOrderRef: attemptId } as ReferencedPredictionOrder;
  return ofPrediction(await placePredictionOrder(deps, stagingUrl, order, options));
}

const noAddress: Reason = { code: 'NOT_CONFIGURED', message: 'there is no address for prediction orders' };

/** It names no order id: the first observation that carries our reference does. */
function ofPlace(result: WriteResult<OrderResponse>): WrittenRequest {
  if (result.kind === 'failed') return result;
  const { verdict } = result;
  const { ordRejReason, text } = result.answer;
  const answer = kept(result.answer, placeFields);
  if (verdict === 'accepted') return { kind: 'answered', verdict, answer };
  const code = cut(ordRejReason ?? 'REJECTED', 100);
  return { kind: 'answered', verdict, answer, reason: { code, message: cut(text ?? code, 500), status: 200 } };
}

function ofCancel(result: WriteResult<AccountOrderItem>): WrittenRequest {
  if (result.kind === 'failed') return result;
  const { verdict, answer } = result;
  return { kind: 'answered', verdict, orderId: answer.ordId, answer: kept(answer, cancelFields), order: answer };
}

function ofPrediction(result: WriteResult<PredictionOrderWire>): WrittenRequest {
  if (result.kind === 'failed') return result;
  const { verdict, answer } = result;
  return { kind: 'answered', verdict, orderId: answer.orderId, answer: kept(answer, predictionFields), order: answer };
}

const placeFields: readonly (keyof OrderResponse & string)[] = [
  'success',
  'clOrdId',
  'status',
  'symbol',
  'side',
  'qty',
  'cumQty',
  'leavesQty',
  'avgPrice',
  'text',
  'ordRejReason',
  'transactTime',
];
const cancelFields: readonly (keyof AccountOrderItem & string)[] = [
  'ordId',
  'clOrdId',
  'ordStatus',
  'qty',
  'cumQty',
  'leavesQty',
  'updatedAt',
];
const predictionFields: readonly (keyof PredictionOrderWire & string)[] = [
  'orderId',
  'clientOrderRef',
  'state',
  'certainty',
  'pendingAction',
  'version',
  'quantity',
  'workingQuantity',
  'price',
  'workingPrice',
  'cumQty',
  'leavesQty',
  'rejectReason',
  'rejectText',
  'updatedAt',
];

/** The fields that say what became of it: an answer of a megabyte is no better evidence. */
function kept(answer: Readonly<Record<string, unknown>>, fields: readonly string[]): Readonly<Record<string, unknown>> {
  const said: Record<string, unknown> = {};
  for (const field of fields) {
    const value = answer[field];
    if (typeof value === 'string') said[field] = cut(value, 500);
    if (typeof value === 'boolean') said[field] = value;
  }
  return said;
}

function cut(text: string, length: number): string {
  return text.slice(0, length).toWellFormed();
}
