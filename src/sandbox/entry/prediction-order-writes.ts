import type { Random } from '../../runtime/random.ts';
import { encodePredictionOrder } from '../exchange/encode-row.ts';
import {
  type AskedTerms,
  type ExchangeAccount,
  type ExchangeOrder,
  isClosed,
  type OrderTerms,
  workingTermsOf,
} from '../exchange/exchange-order.ts';
import { whole } from '../exchange/wire-text.ts';
import { exceedsLimit, type VenueOptions } from '../venue/venue.ts';
import type { PredictionRequestTerms, ReplaceTerms } from './read-prediction-request.ts';
import { type EntryDeps, entryClosed, predictionRefusal, type Refusal, type Write } from './write.ts';

/** The answer to every prediction order write: `202` with the envelope around the order. */
const predictionAnswer = {
  status: 202,
  body: (order: ExchangeOrder) => `{"success":true,"data":${encodePredictionOrder(order)}}`,
} as const;

/**
 * `POST /v1/predictions/orders`: `pending_new` until the venue answers
 * (docs/platform-assumptions.md, "Prediction orders").
 */
export function placePredictionOrder(
  deps: EntryDeps,
  account: ExchangeAccount,
  request: PredictionRequestTerms,
  placedBy: string,
): Write {
  return {
    kind: 'place',
    stream: 'prediction',
    account,
    reference: request.clientOrderRef,
    attempt() {
      const closed = entryClosed(deps.venue);
      if (closed !== undefined) return closed;
      if (exceedsLimit(deps.venue.options, request.quantity, request.price ?? request.stopPx ?? whole(1)))
        return predictionRefusal('ORDER_NOT_ACTIONABLE', "The order would exceed the account's limits");
      const order = deps.exchange.open(termsOf(deps.random, account, request, placedBy), 'placed');
      deps.venue.submit(order);
      return order;
    },
    answer: predictionAnswer,
  };
}

function termsOf(
  random: Random,
  account: ExchangeAccount,
  { accountId: _, stopPx: stopPrice, ...terms }: PredictionRequestTerms,
  placedBy: string,
): OrderTerms {
  const ids = { orderId: random.uuid(), clOrdId: random.uuid() };
  return { stream: 'prediction', account, ...terms, stopPrice, ...ids, placedBy, version: 1n };
}

/**
 * `PATCH /v1/predictions/orders/{orderId}` (specification): `pendingAction` = `replace` until the
 * venue answers. `by` is "recorded as the user who asked": in the ledger, for the order resource
 * has no field for it.
 */
export function replacePredictionOrder(
  deps: EntryDeps,
  account: ExchangeAccount,
  orderId: string,
  asked: ReplaceTerms,
  by: string,
): Write {
  const write = change(deps, account, orderId, 'replace', (order) => {
    const terms = changedTerms(order, asked);
    if ('refused' in terms) return terms;
    if (exceeds(deps.venue.options, order, terms))
      return predictionRefusal('ORDER_NOT_ACTIONABLE', "The amend would exceed the account's limits");
    deps.venue.ask(order, 'replace', terms);
    return order;
  });
  return { ...write, by };
}

/**
 * `DELETE /v1/predictions/orders/{orderId}?accountId=` (docs/platform-assumptions.md):
 * `pendingAction` = `cancel` until the venue answers.
 */
export function cancelPredictionOrder(deps: EntryDeps, account: ExchangeAccount, orderId: string): Write {
  return change(deps, account, orderId, 'cancel', (order) => {
    deps.venue.ask(order, 'cancel');
    return order;
  });
}

function change(
  deps: EntryDeps,
  account: ExchangeAccount,
  orderId: string,
  kind: 'replace' | 'cancel',
  act: (order: ExchangeOrder) => ExchangeOrder | Refusal,
): Write {
  return {
    kind,
    stream: 'prediction',
    account,
    attempt() {
      const order = deps.exchange.orderOf(account, 'prediction', orderId);
      if (order === undefined) return predictionRefusal('ORDER_NOT_FOUND', 'No such order on this account');
      return entryClosed(deps.venue) ?? notActionable(order) ?? act(order);
    },
    answer: predictionAnswer,
  };
}

/** Four causes of 409; the fifth, the account's limits, depends on the amend. */
function notActionable(order: ExchangeOrder): Refusal | undefined {
  const refuse = (why: string) => predictionRefusal('ORDER_NOT_ACTIONABLE', why);
  if (isClosed(order.state)) return refuse(`The order is closed: ${order.state}`);
  if (order.state === 'unknown' || order.certainty !== 'certain') return refuse("The order's state is unknown");
  if (order.pendingAction === 'replace') return refuse('An earlier amend still awaits the venue');
  if (order.pendingAction === 'cancel') return refuse('A cancel still awaits the venue');
  return undefined;
}

/**
 * The terms that really change, or why the amend is refused. Equal by value is no change
 * (docs/platform-assumptions.md: `0.020` = `0.02`).
 */
function changedTerms(order: ExchangeOrder, asked: ReplaceTerms): AskedTerms | Refusal {
  const refuse = (why: string) => predictionRefusal('INVALID_ORDER', why);
  const working = workingTermsOf(order);
  const type = order.workingOrderType;
  if (asked.price !== undefined && !type.endsWith('limit')) return refuse(`price does not belong to a ${type} order`);
  if (asked.stopPx !== undefined && !type.startsWith('stop'))
    return refuse('stopPx belongs to a stop order that has not triggered');
  const timeInForce = asked.timeInForce ?? working.timeInForce;
  if (asked.expireAt !== undefined && timeInForce !== 'gtd') return refuse('expireTime belongs to time in force gtd');
  if (timeInForce === 'gtd' && (asked.expireAt ?? working.expireAt) === undefined)
    return refuse('expireTime is required for time in force gtd');
  if (asked.quantity !== undefined && asked.quantity < order.cumQty)
    return refuse('quantity is below what was executed');
  const changed = <V>(to: V, from: V) => (to === from ? undefined : to);
  const terms: AskedTerms = {
    quantity: changed(asked.quantity, order.workingQuantity),
    price: changed(asked.price, order.workingPrice),
    stopPrice: changed(asked.stopPx, working.stopPrice),
    timeInForce: changed(asked.timeInForce, working.timeInForce),
    expireAt: changed(asked.expireAt, working.expireAt),
  };
  return Object.values(terms).every((term) => term === undefined) ? refuse('No term would change') : terms;
}

function exceeds(options: VenueOptions, order: ExchangeOrder, terms: AskedTerms): boolean {
  const price = terms.price ?? order.workingPrice ?? terms.stopPrice ?? order.terms.stopPrice ?? whole(1);
  return exceedsLimit(options, terms.quantity ?? order.workingQuantity, price);
}
