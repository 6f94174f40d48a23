import { newYorkDay } from '../data/trading-days.ts';
import { MemberFault } from '../entry/request-members.ts';
import type { EntryDeps, Refusal, Write } from '../entry/write.ts';
import {
  type ExchangeAccount,
  type ExchangeOrder,
  isClosed,
  type OrderTerms,
  workingTermsOf,
} from '../exchange/exchange-order.ts';
import { cancelOrder } from '../exchange/venue-steps.ts';
import { type Fixed, fixed } from '../exchange/wire-text.ts';
import { referencePrice } from '../venue/match-order.ts';
import { exceedsLimit } from '../venue/venue.ts';
import { alpacaWords, nestedRow, statusWord } from './alpaca-words.ts';
import { isHeld, legsOf } from './order-groups.ts';
import { checkPrices, isWhole, type PatchTerms, type PlaceTerms } from './read-alpaca-order.ts';

/** A refusal in Alpaca's form: a status, with a number and a sentence in the body. */
function alpacaRefusal(status: number, code: number, message: string): Refusal {
  return { refused: true, status, code: String(code), message, shape: 'alpaca' };
}

export const badRequest = (message: string): Refusal => alpacaRefusal(422, 40010001, message);
const notPossible = (message: string): Refusal => alpacaRefusal(422, 42210000, message);
const notPermitted = (message: string): Refusal => alpacaRefusal(403, 40310000, message);
const answer = { status: 200, body: alpacaWords.row } as const;

/** `POST /v2/orders`: 200 with a waiting order. */
export function placeAlpacaOrder(deps: EntryDeps, account: ExchangeAccount, asked: PlaceTerms): Write {
  return {
    kind: 'place',
    stream: 'account',
    account,
    reference: asked.clientOrderId,
    attempt() {
      const terms = termsOf(deps, account, asked);
      if ('refused' in terms) return terms;
      const refusal = refusalOf(deps, terms);
      if (refusal !== undefined) return refusal;
      const [order, ...exits] = withExits(deps, terms, asked).map((each) => deps.exchange.open(each, 'placed'));
      if (order === undefined) throw new Error('a place opened no order');
      deps.venue.submit(order);
      if (asked.group?.kind === 'oco') for (const exit of exits) deps.venue.submit(exit);
      return order;
    },
    answer: {
      status: 200,
      body: (order) => nestedRow(alpacaWords.row(order), legsOf(deps.exchange, order).map(alpacaWords.row)),
    },
  };
}

/** The order, and its exits. */
function withExits(deps: EntryDeps, terms: OrderTerms, { group: asked }: PlaceTerms): OrderTerms[] {
  if (asked === undefined) return [terms];
  const opposite = terms.side.startsWith('BUY') ? 'SELL' : 'BUY';
  const side = asked.kind === 'oco' ? terms.side : opposite;
  const exits: OrderTerms[] = [];
  const add = (more: Pick<OrderTerms, 'orderType' | 'price' | 'stopPrice'>) =>
    exits.push({
      ...{ ...terms, price: undefined, stopPrice: undefined, ...more, side },
      ...{ orderId: deps.random.uuid(), clOrdId: deps.random.uuid() },
    });
  const { takeProfit, stopLoss } = asked;
  if (takeProfit !== undefined && asked.kind !== 'oco') add({ orderType: 'LIMIT', price: takeProfit });
  if (stopLoss?.price !== undefined)
    add({ orderType: 'STOP_LIMIT', price: stopLoss.price, stopPrice: stopLoss.stopPrice });
  else if (stopLoss !== undefined) add({ orderType: 'STOP', stopPrice: stopLoss.stopPrice });
  const members = [terms, ...exits].map(({ clOrdId }) => clOrdId);
  const groupOf = (parent?: string) => ({ kind: asked.kind, parent, members });
  return [{ ...terms, group: groupOf() }, ...exits.map((exit) => ({ ...exit, group: groupOf(terms.clOrdId) }))];
}

function termsOf(deps: EntryDeps, account: ExchangeAccount, asked: PlaceTerms): OrderTerms | Refusal {
  const { symbol, legs, side, price, stopPrice, notional } = asked;
  const terms = {
    stream: 'account',
    orderId: deps.random.uuid(),
    account,
    symbol,
    legs,
    side,
    orderType: asked.type,
    timeInForce: asked.timeInForce,
    quantity: asked.quantity ?? 0n,
    price,
    stopPrice,
    notional,
    extendedHours: asked.extendedHours,
    clOrdId: asked.clientOrderId ?? deps.random.uuid(),
  } as const;
  const instrument = deps.instrument('account', symbol);
  if (instrument === undefined) return badRequest(`asset "${legs?.[0]?.symbol ?? symbol}" not found`);
  if (notional === undefined) return terms;
  const quantity = boughtBy(notional, referencePrice(terms, instrument, newYorkDay(deps.clock.nowMs())));
  return quantity === 0n ? badRequest('notional is too small') : { ...terms, quantity };
}

/** As much as the money buys, in nine digits. */
function boughtBy(notional: Fixed, price: Fixed): Fixed {
  const quantity = (notional * fixed('1')) / price;
  return quantity - (quantity % fixed('0.000000001'));
}

/** The present state forbids it, to a new order and to a successor. */
function refusalOf(deps: EntryDeps, terms: OrderTerms): Refusal | undefined {
  const { account, clOrdId } = terms;
  const { options } = deps.venue;
  if (options.session === 'down') return alpacaRefusal(503, 50310000, 'service unavailable');
  if (account.status !== 'OPEN') return notPermitted('account is not allowed to trade');
  if (deps.exchange.byClientReference(clOrdId).some((order) => order.terms.account === account))
    return badRequest('client_order_id must be unique');
  const instrument = deps.instrument('account', terms.symbol);
  const today = newYorkDay(deps.clock.nowMs());
  const market = instrument === undefined ? fixed('1') : referencePrice(terms, instrument, today);
  if (exceedsLimit(options, terms.quantity, terms.price ?? terms.stopPrice ?? market))
    return notPermitted('insufficient buying power');
  return undefined;
}

/**
 * `PATCH /v2/orders/{id}`: 200 with a new order, which goes on once the venue has ended the old
 * one. Assumption: its quantity counts the old order's fills, so both together never trade more
 * than it says.
 */
export function replaceAlpacaOrder(
  deps: EntryDeps,
  account: ExchangeAccount,
  orderId: string,
  patch: PatchTerms,
): Write {
  return {
    kind: 'replace',
    stream: 'account',
    account,
    reference: patch.clientOrderId,
    attempt() {
      const order = findOrder(deps, account, orderId);
      if ('refused' in order) return order;
      const terms = successorOf(deps, order, patch);
      if ('refused' in terms) return terms;
      const refusal = refusalOf(deps, terms);
      if (refusal !== undefined) return refusal;
      const successor = deps.exchange.open(terms, 'placed', (it) => {
        // A touched stop stays so.
        it.workingOrderType = order.workingOrderType;
      });
      const { quantity, price, stopPrice, timeInForce } = terms;
      deps.venue.askSuccessor(order, successor, { quantity, price, stopPrice, timeInForce });
      return successor;
    },
    answer,
  };
}

function successorOf(deps: EntryDeps, order: ExchangeOrder, patch: PatchTerms): OrderTerms | Refusal {
  const { terms } = order;
  const status = statusWord(order);
  if (!['new', 'partially_filled', 'done_for_day', 'suspended'].includes(status))
    return notPossible(`order in ${status} status cannot be changed`);
  if (terms.notional !== undefined) return notPossible('notional orders cannot be replaced');
  if (terms.group !== undefined) return notPossible(`replacing an order of a ${terms.group.kind} is not emulated`);
  const isPart = !isWhole(order.workingQuantity) || !isWhole(patch.quantity);
  if (isPart && patch.quantity !== undefined) return notPossible('qty of fractional orders cannot be replaced');
  if (isPart && (patch.timeInForce ?? 'DAY') !== 'DAY') return badRequest('fractional orders must be DAY orders');
  const quantity = patch.quantity ?? order.workingQuantity;
  if (quantity <= order.cumQty) return notPossible('qty must be above filled_qty');
  const price = patch.price ?? order.workingPrice;
  const stopPrice = patch.stopPrice ?? workingTermsOf(order).stopPrice;
  try {
    checkPrices(terms.orderType, price, stopPrice);
  } catch (error) {
    if (error instanceof MemberFault) return badRequest(error.message);
    throw error;
  }
  return {
    ...terms,
    orderId: deps.random.uuid(),
    clOrdId: patch.clientOrderId ?? deps.random.uuid(),
    timeInForce: patch.timeInForce ?? workingTermsOf(order).timeInForce,
    quantity,
    price,
    stopPrice,
    replaces: terms.orderId,
  };
}

/** `DELETE /v2/orders/{id}`: 204, and the venue's answer comes on the stream. */
export function cancelAlpacaOrder(deps: EntryDeps, account: ExchangeAccount, orderId: string): Write {
  return {
    kind: 'cancel',
    stream: 'account',
    account,
    attempt() {
      const order = findOrder(deps, account, orderId);
      if ('refused' in order) return order;
      if (isClosed(order.state) || order.pendingAction !== 'none')
        return notPossible(`order is already in "${statusWord(order)}" state and is not cancelable`);
      // The venue does not have it, so nothing has to be asked.
      if (isHeld(order)) cancelOrder(deps.exchange, order);
      else deps.venue.ask(order, 'cancel');
      return order;
    },
    answer: { status: 204, body: () => '' },
  };
}

function findOrder({ exchange }: EntryDeps, account: ExchangeAccount, orderId: string): ExchangeOrder | Refusal {
  const order = exchange.orderOf(account, 'account', orderId);
  return order ?? alpacaRefusal(404, 40410000, `order not found for ${orderId}`);
}
