import type {
  Attempt,
  Baseline,
  Command,
  CommandRequest,
  CommandState,
  ReplaceTerms,
} from '../../../src/domain/command.ts';
import type { Order } from '../../../src/domain/order.ts';
import type { BoundOrder, ResolvingUpdate } from '../../../src/domain/resolving.ts';
import { equityView, instantAt, predictionView } from '../orders/arbitrary-orders.ts';

export const sentAtMs = Date.parse('2026-11-21T12:00:00Z');

export const predictionOrder: Order = { ...predictionView, origin: 'tidemark' };
export const equityOrder: Order = { ...equityView, origin: 'tidemark' };

type Of<K, S> = Extract<CommandRequest, { kind: K }> & { stream: S };

export const placePrediction: Of<'place', 'prediction'> = {
  kind: 'place',
  stream: 'prediction',
  accountId: 'acct-1',
  terms: {
    symbol: 'FED-CUT',
    outcome: 'YES',
    side: 'buy',
    orderType: 'limit',
    timeInForce: 'gtc',
    quantity: '10',
    price: '0.4',
  },
};
export const placeEquity: Extract<CommandRequest, { kind: 'place' }> & { stream: 'account' } = {
  kind: 'place',
  stream: 'account',
  accountId: 'acct-1',
  terms: { symbol: 'AAPL', side: 'BUY', type: 'LIMIT', qty: '10', timeInForce: 'DAY', price: '191.5' },
};
export function replaceOf(terms: ReplaceTerms): Of<'replace', 'prediction'> {
  return { kind: 'replace', stream: 'prediction', accountId: 'acct-1', orderId: predictionOrder.orderId, terms };
}
export function cancelOf({ stream, accountId, orderId }: Order): CommandRequest {
  return { kind: 'cancel', stream, accountId, orderId };
}

/** Revision 5, version 50: ten at 0.4, nothing pending. */
export const baseline: Baseline = {
  revision: 5,
  sourceEpoch: 0,
  sourceVersion: 50n,
  status: 'new',
  working: { quantity: '10', price: '0.4' },
  cumQty: '0',
  pendingAction: 'none',
};

export function attemptOf(state: Attempt['state'], number = 1): Attempt {
  const sent = state === 'prepared' ? {} : { sendingAtMs: sentAtMs };
  const answered = state === 'prepared' || state === 'sending' ? {} : { answeredAtMs: sentAtMs + 2_000 };
  return { attemptId: `tm-${number}`, number, state, epoch: 1n, preparedAtMs: sentAtMs, ...sent, ...answered };
}

/** Unknown after one attempt that may have arrived. */
export function commandOf(request: CommandRequest, over: Partial<Command> = {}): Command {
  return {
    commandId: '0a000000-0000-4000-8000-000000000001',
    shard: 0,
    principal: 'desk',
    idempotencyKey: 'key-1',
    requestHash: 'hash-1',
    request,
    state: 'unknown' satisfies CommandState,
    version: 3,
    presumedAbsent: false,
    misses: 0,
    ...(request.kind === 'place' ? {} : { orderId: request.orderId, baseline }),
    deadlineAtMs: sentAtMs + 10_000,
    createdAtMs: sentAtMs,
    updatedAtMs: sentAtMs,
    attempts: [attemptOf('unknown')],
    ...over,
  };
}

/** What the order was at `revision`; its version is ten times that on the prediction stream. */
export function updateAt(revision: number, over: Partial<Order> = {}, base: Order = predictionOrder): ResolvingUpdate {
  return {
    revision,
    sourceEpoch: 0,
    ...(base.stream === 'prediction' ? { sourceVersion: BigInt(revision) * 10n } : {}),
    cause: 'stream',
    order: { ...base, updatedAt: instantAt(revision), ...over },
  };
}

export function boundTo(command: Command, over: Partial<BoundOrder> = {}): BoundOrder {
  return {
    attemptId: command.attempts[0]?.attemptId ?? '',
    commandId: command.commandId,
    orderId: predictionOrder.orderId,
    matches: true,
    ...over,
  };
}
