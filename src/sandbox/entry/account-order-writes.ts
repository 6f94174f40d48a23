import type { Random } from '../../runtime/random.ts';
import { optionContract } from '../data/option-contracts.ts';
import { newYorkDay } from '../data/trading-days.ts';
import { accountStatus, encodeRow } from '../exchange/encode-row.ts';
import {
  type ExchangeAccount,
  type ExchangeOrder,
  isClosed,
  leavesOf,
  type OrderTerms,
} from '../exchange/exchange-order.ts';
import { rejectOrder } from '../exchange/venue-steps.ts';
import { averagePrice, formatFixed, instantText } from '../exchange/wire-text.ts';
import { referencePrice } from '../venue/match-order.ts';
import { exceedsLimit } from '../venue/venue.ts';
import type { OrderRequestTerms } from './read-order-request.ts';
import { type EntryDeps, nestedRefusal, type Write } from './write.ts';

/**
 * `POST /v1/orders`: 200 with the order response, also when the order is rejected
 * (docs/platform-assumptions.md, "Equity and option orders").
 */
export function placeAccountOrder(deps: EntryDeps, account: ExchangeAccount, request: OrderRequestTerms): Write {
  return {
    kind: 'place',
    stream: 'account',
    account,
    reference: request.clientId,
    attempt() {
      const order = deps.exchange.open(termsOf(deps.random, account, request), 'placed');
      const rejection = rejectionOf(deps, order.terms);
      if (rejection === undefined) deps.venue.submit(order);
      else rejectOrder(deps.exchange, order, rejection.reason, rejection.text);
      return order;
    },
    answer: { status: 200, body: encodeOrderResponse },
  };
}

function termsOf(
  random: Random,
  account: ExchangeAccount,
  { accountId: _, clientId, type: orderType, ...terms }: OrderRequestTerms,
): OrderTerms {
  const orderId = random.uuid();
  return { stream: 'account', orderId, account, ...terms, orderType, clOrdId: clientId ?? random.uuid() };
}

interface Rejection {
  readonly reason: string;
  readonly text: string;
}

/**
 * Orders that a broker refuses although the request is in order: reported by `success` false,
 * `text` and `ordRejReason`.
 */
function rejectionOf(deps: EntryDeps, terms: OrderTerms): Rejection | undefined {
  const { account } = terms;
  if (account.status !== 'OPEN') return { reason: 'ACCOUNT_NOT_OPEN', text: `The account is ${account.status}` };
  if (deps.venue.options.session === 'down')
    return { reason: 'VENUE_UNAVAILABLE', text: 'The session with the venue is down' };
  const today = newYorkDay(deps.clock.nowMs());
  const instrument = deps.instrument('account', terms.symbol);
  const marketPrice = instrument === undefined ? undefined : referencePrice(terms, instrument, today);
  const price = terms.price ?? terms.stopPrice ?? marketPrice;
  if (price !== undefined && exceedsLimit(deps.venue.options, terms.quantity, price))
    return { reason: 'INSUFFICIENT_BUYING_POWER', text: 'The order is worth more than the account may trade' };
  const dead = terms.legs?.find((leg) => (optionContract(leg.symbol)?.expires ?? today) < today);
  if (dead === undefined) return undefined;
  return { reason: 'CONTRACT_EXPIRED', text: `${dead.symbol} has expired` };
}

/**
 * Specification, "Equity or option order response". All fields are there but `text` and
 * `ordRejReason` (docs/platform-assumptions.md, "Equity and option orders").
 */
function encodeOrderResponse(order: ExchangeOrder): string {
  const { clOrdId, symbol, side, quantity } = order.terms;
  const isRejected = order.state === 'rejected';
  return JSON.stringify({
    ...{ success: !isRejected, clOrdId, status: accountStatus(order), symbol, side, qty: formatFixed(quantity) },
    cumQty: formatFixed(order.cumQty),
    leavesQty: formatFixed(leavesOf(order)),
    avgPrice: formatFixed(averagePrice(order.notional, order.cumQty)),
    ...(isRejected && { text: order.rejectText, ordRejReason: order.rejectReason }),
    transactTime: instantText(order.updatedAt),
  });
}

/**
 * `DELETE /v1/orders/{ordId}?accountId=` asks for a cancel: `202`, body the order
 * (docs/platform-assumptions.md, "Equity and option orders").
 */
export function cancelAccountOrder(deps: EntryDeps, account: ExchangeAccount, ordId: string): Write {
  return {
    kind: 'cancel',
    stream: 'account',
    account,
    attempt() {
      const order = deps.exchange.orderOf(account, 'account', ordId);
      if (order === undefined) return nestedRefusal(404, 'ORDER_NOT_FOUND', 'No such order on this account');
      if (isClosed(order.state))
        return nestedRefusal(409, 'ORDER_NOT_ACTIONABLE', `The order is closed: ${order.state}`);
      if (order.pendingAction !== 'none')
        return nestedRefusal(409, 'ORDER_NOT_ACTIONABLE', `A ${order.pendingAction} still awaits the venue`);
      deps.venue.ask(order, 'cancel');
      return order;
    },
    answer: { status: 202, body: encodeRow },
  };
}
