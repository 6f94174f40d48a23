import type { EntryOptions, EntryResult, OrderEntry } from '../commands/order-entry.ts';
import type { CommandRequest, Reason } from '../domain/command.ts';
import type { Metrics } from '../observability/metrics.ts';
import {
  cancelOrder,
  cancelPredictionOrder,
  placeOrder,
  placePredictionOrder,
  type ReferencedOrder,
  type ReferencedPredictionOrder,
  replacePredictionOrder,
} from '../platform/order-writes.ts';
import type { TokenSource } from '../platform/token-source.ts';
import type { AccountOrderItem } from '../platform/wire/account-order.ts';
import type { OrderResponse, ReplaceRequest } from '../platform/wire/order-writes.ts';
import type { PredictionOrderWire } from '../platform/wire/prediction-order.ts';
import type { WriteDeps, WriteOptions } from '../platform/write-platform.ts';
import type { WriteLines, WriteResult } from '../platform/write-result.ts';
import type { Clock } from '../runtime/clock.ts';
import { type EntryAccounts, reasonOf } from './platform-parts.ts';

interface EntryAddresses {
  /** Production REST base: equity and option orders. */
  readonly platformUrl: string;
  /** REST base of prediction orders; left out where there is none. */
  readonly stagingUrl?: string;
}

type WriteFailure = Extract<WriteResult<unknown>, { kind: 'failed' }>;

/** A write that was answered. `order`: the order, where the answer shows it; `answer`: the fields that are kept as evidence. */
interface EntryAnswer {
  readonly kind: 'answered';
  readonly verdict: 'accepted' | 'rejected';
  readonly orderId?: string;
  readonly reason?: Reason;
  readonly answer: Readonly<Record<string, unknown>>;
  readonly order?: unknown;
}

type WrittenRequest = WriteFailure | EntryAnswer | { readonly kind: 'not_sendable'; readonly reason: Reason };

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
    // The order is checked strictly against the wire's own shape before a connection is made.
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

/** The fields that show the result: an answer of a megabyte is not better evidence. */
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

interface OrderEntryDeps {
  readonly accounts: EntryAccounts;
  readonly lines: WriteLines;
  readonly clock: Clock;
  readonly metrics: Metrics['platform'];
}

/**
 * The port `OrderEntry` over the platform's writes: one call is at most one request, judged by the table "observed → outcome" (docs/settling.md, "Sending a
 * command"; `platform/judge-write.ts`). An order that the answer shows goes to ingest by the account's own intake, like every other row of it.
 */
export class PlatformOrderEntry implements OrderEntry {
  private readonly deps: OrderEntryDeps;
  private readonly addresses: EntryAddresses;

  constructor(deps: OrderEntryDeps, addresses: EntryAddresses) {
    this.deps = deps;
    this.addresses = addresses;
  }

  async send(request: CommandRequest, attemptId: string, options: EntryOptions): Promise<EntryResult> {
    const { accounts, lines, clock, metrics } = this.deps;
    const tokens = accounts.tokensFor(request.accountId);
    if (tokens === undefined) return notSent({ code: 'NO_CREDENTIAL', message: 'no credential follows the account' }, false);
    const takeReply = accounts.account(request.stream, request.accountId)?.expectReply();
    const permission = askOnce(options);
    const deps = { lines, clock, tokens, metrics };
    const result = await writeRequest(deps, this.addresses, request, attemptId, permission.options);
    if (result.kind === 'not_sendable') return notSent(result.reason, false);
    if (result.kind === 'failed') {
      const given = permission.refusal();
      return given === undefined ? failed(result, tokens) : notSent(given, false);
    }
    if (result.order !== undefined) takeReply?.(result.order);
    return answered(result);
  }
}

/** Keeps the result of `mayWrite`: its refusal, or its failure, must not look like a connection that could not be made, which may be tried again. */
function askOnce({ mayWrite, mayStillWrite, signal }: EntryOptions): {
  options: WriteOptions;
  refusal: () => Reason | undefined;
} {
  let refusal: Reason | undefined;
  const givenUp: Reason = { code: 'NOT_PERMITTED', message: 'given up before it was written' };
  return {
    refusal: () => refusal,
    options: {
      signal,
      mayWrite: async () => {
        try {
          if (await mayWrite()) return true;
          refusal = givenUp;
        } catch (error) {
          const message = error instanceof Error ? error.message : String(error);
          refusal = { code: 'NOT_PERMITTED', message: `given up before it was written: ${message}`.slice(0, 500) };
        }
        return false;
      },
      mayStillWrite: () => {
        if (mayStillWrite()) return true;
        refusal = givenUp;
        return false;
      },
    },
  };
}

async function failed({ verdict, error, tokenGeneration }: WriteFailure, tokens: TokenSource): Promise<EntryResult> {
  const reason = reasonOf(error);
  const { retryAfterMs } = error;
  if (verdict === 'not_sent') return { ...notSent(reason, error.retryable), ...(retryAfterMs !== undefined && { retryAfterMs }) };
  if (verdict === 'unknown') return { kind: 'unknown', reason };
  if (error.status !== 401 || tokenGeneration === undefined) return { kind: 'refused', reason };
  // At once when the used token is not the current one any more; otherwise by the one renewal that all callers share.
  const next = await tokens.renew(tokenGeneration);
  const isOther = next.ok && next.token.generation !== tokenGeneration;
  return isOther ? { kind: 'refused', reason, staleToken: true } : { kind: 'refused', reason };
}

function answered({ verdict, orderId, reason, answer }: EntryAnswer): EntryResult {
  return {
    kind: verdict,
    answer,
    ...(orderId !== undefined && { orderId }),
    ...(reason !== undefined && { reason }),
  };
}

function notSent(reason: Reason, mayRepeat: boolean): EntryResult {
  return { kind: 'not_sent', reason, mayRepeat };
}
