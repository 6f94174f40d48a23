import { type AccountPlaceTerms, type Command, isFinal, type PredictionPlaceTerms } from './command.ts';
import type { CommandEvent } from './command-machine.ts';
import { compareInstants } from './instant.ts';
import type { Order } from './order.ts';
import { type BoundOrder, type Fact, type Finding, nothing, type Settling, type SettlingUpdate } from './settling.ts';

/**
 * A place (reconciliation.md, "Settling unknown"): an order that carries one of its attempt ids, with account, symbol and side as ours, is it, whatever became of
 * its price and quantity. Never bound by terms alone, and absence says nothing: somebody else may have placed the same, and lists are late.
 *
 * Also for commands that are settled already: an order that was not supposed to be there is told, and so is a second one.
 */
export function settlePlace({ command, updates, bound = [] }: Settling): Finding {
  const ours = bound.filter(({ commandId }) => commandId === command.commandId).sort(byOrderId);
  const matching = ours.filter(({ matches }) => matches);
  if (command.state === 'applied' && command.orderId !== undefined) return secondOrder(command.orderId, matching);
  if (command.state === 'conflict') return nothing;
  const landed = matching.find((each) => !isDenied(command, each)) ?? matching[0];
  if (landed !== undefined) return landedAs(command, landed, updates);
  const foreign = ours[0];
  if (foreign === undefined || isFinal(command.state)) return nothing;
  const message = `order ${foreign.orderId} carries our reference, but another account, symbol or side`;
  return {
    kind: 'verdict',
    outcome: 'conflict',
    event: 'verdict_conflict',
    because: 'other_identity',
    orderId: foreign.orderId,
    reason: { code: 'OTHER_IDENTITY', message },
    evidence: fact('other_identity', command, foreign, undefined),
  };
}

function landedAs(command: Command, landed: BoundOrder, updates: readonly SettlingUpdate[]): Finding {
  const newest = newestOf(landed.orderId, updates);
  const event = isDenied(command, landed) ? 'bound_denied' : boundEvent(newest?.order);
  // The order of a rejected place shows up as rejected: that is what was answered.
  if (command.state === 'rejected' && (event === 'bound_rejected' || event === 'bound_undecided')) return nothing;
  const differs = newest === undefined ? [] : differingTerms(command, newest.order);
  return {
    kind: 'verdict',
    outcome: 'applied',
    event,
    because: 'landed',
    orderId: landed.orderId,
    ...(differs.length === 0 ? {} : { differs }),
    evidence: fact('landed', command, landed, newest),
  };
}

function secondOrder(orderId: string, matching: readonly BoundOrder[]): Finding {
  const second = matching.find((each) => each.orderId !== orderId);
  if (second === undefined) return nothing;
  const detail = { orderId: second.orderId, appliedAs: orderId };
  return {
    kind: 'second_order',
    orderId: second.orderId,
    evidence: { kind: 'update', code: 'second_order', attemptId: second.attemptId, detail },
  };
}

/** The platform's documented word about this very attempt was that nothing came of it. */
function isDenied({ attempts }: Command, { attemptId }: BoundOrder): boolean {
  const state = attempts.find((attempt) => attempt.attemptId === attemptId)?.state;
  return state === 'not_sent' || state === 'refused';
}

function boundEvent(order: Order | undefined): CommandEvent {
  if (order === undefined || order.status === 'pending_new' || order.status === 'unknown') return 'bound_undecided';
  return order.status === 'rejected' && order.cumQty === '0' ? 'bound_rejected' : 'bound';
}

function newestOf(orderId: string, updates: readonly SettlingUpdate[]): SettlingUpdate | undefined {
  let newest: SettlingUpdate | undefined;
  for (const update of updates)
    if (update.order.orderId === orderId && (newest === undefined || update.revision > newest.revision)) newest = update;
  return newest;
}

/** Names of terms in which the order is not what was asked for, over what both name. Words are compared as orders have them, in lower case. */
function differingTerms({ request }: Command, order: Order): string[] {
  if (request.kind !== 'place') return [];
  const pairs = request.stream === 'account' ? accountPairs(request.terms, order) : predictionPairs(request.terms, order);
  return pairs.filter(([, asked, has]) => asked !== undefined && has !== undefined && asked !== has).map(([name]) => name);
}

type Pair = readonly [name: string, asked: string | undefined, has: string | undefined];

function accountPairs(terms: AccountPlaceTerms, order: Order): Pair[] {
  return [
    ['quantity', terms.qty, order.quantity],
    ['orderType', terms.type.toLowerCase(), order.orderType],
    ['timeInForce', terms.timeInForce.toLowerCase(), order.timeInForce],
    ['price', terms.price, order.price],
    ['stopPrice', terms.stopPrice, order.stopPrice],
    ['legs', legsText(terms.legs), legsText(order.instrument.legs)],
  ];
}

function predictionPairs(terms: PredictionPlaceTerms, order: Order): Pair[] {
  const expiry = order.expireTime;
  const sameExpiry = terms.expireTime !== undefined && expiry !== undefined && compareInstants(terms.expireTime, expiry) === 0;
  return [
    ['outcome', terms.outcome, order.instrument.outcome],
    ['quantity', terms.quantity, order.quantity],
    ['orderType', terms.orderType, order.orderType],
    ['timeInForce', terms.timeInForce, order.timeInForce],
    ['price', terms.price, order.price],
    ['stopPrice', terms.stopPx, order.stopPrice],
    ['expireTime', terms.expireTime, sameExpiry ? terms.expireTime : expiry],
  ];
}

function legsText(legs: AccountPlaceTerms['legs']): string | undefined {
  return legs?.map(({ symbol, side, ratioQty }) => `${symbol} ${side} ${ratioQty}`).join(', ');
}

function byOrderId(a: BoundOrder, b: BoundOrder): number {
  if (a.orderId === b.orderId) return 0;
  return a.orderId < b.orderId ? -1 : 1;
}

function fact(code: string, { request }: Command, bound: BoundOrder, newest: SettlingUpdate | undefined): Fact {
  const seen = newest === undefined ? {} : { revision: newest.revision, cause: newest.cause, status: newest.order.status };
  return {
    kind: 'update',
    code,
    attemptId: bound.attemptId,
    detail: { stream: request.stream, orderId: bound.orderId, matches: bound.matches, ...seen },
  };
}
