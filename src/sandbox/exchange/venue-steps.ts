import type { Exchange } from './exchange.ts';
import {
  type AskedTerms,
  type Certainty,
  type ExchangeOrder,
  isClosed,
  type WorkingTerms,
  workingTermsOf,
} from './exchange-order.ts';
import type { Fixed } from './wire-text.ts';

// A venue's steps with one order. Each is one change, one version, one event; the market, the
// control port and order entry share them.

/** The venue has the order: it has a venue id now, and works, for `quantity` if that is less. */
export function acceptOrder(
  exchange: Exchange,
  order: ExchangeOrder,
  venueOrderId: string,
  quantity: Fixed = order.workingQuantity,
): void {
  exchange.change(order, 'accepted', (it) => {
    it.workingQuantity = quantity;
    it.state = 'new';
    it.certainState = 'new';
    it.venueOrderId = venueOrderId;
    it.firstAckAt = it.updatedAt;
  });
}

export function rejectOrder(exchange: Exchange, order: ExchangeOrder, reason: string, text: string): void {
  exchange.change(order, 'rejected', (it) => {
    it.state = 'rejected';
    it.rejectReason = reason;
    it.rejectText = text;
  });
}

/** Fills `quantity` at `price`, at most the open rest. Closes the order when nothing is left. */
export function fillOrder(exchange: Exchange, order: ExchangeOrder, quantity: Fixed, price: Fixed): void {
  exchange.change(order, 'fill', (it) => {
    const left = it.workingQuantity - it.cumQty;
    const filled = quantity < left ? quantity : left;
    it.lastQuantity = filled;
    it.lastPrice = price;
    it.cumQty += filled;
    it.notional += filled * price;
    if (it.cumQty === it.workingQuantity) it.state = 'filled';
    else it.state = 'partially_filled';
    it.certainState = it.state;
  });
}

export function cancelOrder(exchange: Exchange, order: ExchangeOrder): void {
  exchange.change(order, 'canceled', (it) => {
    it.state = 'canceled';
  });
}

export function expireOrder(exchange: Exchange, order: ExchangeOrder): void {
  exchange.change(order, 'expired', (it) => {
    it.state = 'expired';
  });
}

/**
 * An amend or a cancel is on its way to the venue: the order keeps working on its present terms.
 */
export function askVenue(
  exchange: Exchange,
  order: ExchangeOrder,
  action: 'replace' | 'cancel',
  asked?: AskedTerms,
): void {
  exchange.change(order, `${action}_pending`, (it) => {
    it.pendingAction = action;
    it.asked = asked;
  });
}

/** So much was filled meanwhile that nothing would be left to trade. */
export function isTooLate({ cumQty }: ExchangeOrder, { quantity, successor }: AskedTerms): boolean {
  if (quantity === undefined) return false;
  return successor === undefined ? quantity < cumQty : quantity <= cumQty;
}

/** The venue agrees to the pending amend or cancel. */
export function acceptPending(exchange: Exchange, order: ExchangeOrder): void {
  const successor = order.asked?.successor;
  if (order.pendingAction === 'cancel') cancelOrder(exchange, order);
  else if (successor === undefined) amendOrder(exchange, order);
  else replaceOrder(exchange, order, successor);
}

/** It ends here, and another order goes on in its place. */
export function replaceOrder(exchange: Exchange, order: ExchangeOrder, successor: string | undefined): void {
  exchange.change(order, 'replaced', (it) => {
    it.state = 'replaced';
    it.replacedBy = successor;
  });
}

function amendOrder(exchange: Exchange, order: ExchangeOrder): void {
  exchange.change(order, 'replace_accepted', (it) => {
    it.workingQuantity = it.asked?.quantity ?? it.workingQuantity;
    it.workingPrice = it.asked?.price ?? it.workingPrice;
    if (it.asked !== undefined) it.amended = amendedTerms(it, it.asked);
    it.pendingAction = 'none';
    it.asked = undefined;
    if (it.cumQty >= it.workingQuantity) it.state = 'filled';
  });
}

/**
 * The venue refuses the pending amend or cancel: the terms before it keep working, and the reason
 * is recorded on the order.
 */
export function refusePending(exchange: Exchange, order: ExchangeOrder, reason: string, text: string): void {
  exchange.change(order, `${order.pendingAction}_refused`, (it) => {
    it.pendingAction = 'none';
    it.asked = undefined;
    it.rejectReason = reason;
    it.rejectText = text;
  });
}

/** Out of the book until the next session, or halted; `resumeOrder` brings it back. */
export function restOrder(exchange: Exchange, order: ExchangeOrder, state: 'done_for_day' | 'suspended'): void {
  exchange.change(order, state, (it) => {
    it.state = state;
  });
}

export function resumeOrder(exchange: Exchange, order: ExchangeOrder): void {
  exchange.change(order, 'resumed', (it) => {
    it.state = it.cumQty > 0n ? 'partially_filled' : 'new';
  });
}

/**
 * The platform lost sight of a prediction order and says so. With `state` the order shows as
 * `unknown` meanwhile.
 */
export function loseSight(
  exchange: Exchange,
  order: ExchangeOrder,
  certainty: Exclude<Certainty, 'certain'>,
  reason: string,
): void {
  exchange.change(order, certainty, (it) => {
    if (it.certainty === 'certain') it.certainState = it.state;
    it.certainty = certainty;
    it.certaintyReason = reason;
    if (!isClosed(it.state)) it.state = 'unknown';
  });
}

/**
 * The platform knows again: the order is as before. If something was heard meanwhile (a cancel, a
 * fill), it stands.
 */
export function regainSight(exchange: Exchange, order: ExchangeOrder): void {
  exchange.change(order, 'certain_again', (it) => {
    if (it.state === 'unknown') it.state = it.certainState;
    it.certainty = 'certain';
    it.certaintyReason = undefined;
  });
}

/** A trade is taken back: cumQty falls, and a filled order works again. */
export function correctFill(exchange: Exchange, order: ExchangeOrder, cumQty: Fixed): void {
  exchange.change(order, 'corrected', (it) => {
    it.notional = it.cumQty === 0n ? 0n : (it.notional * cumQty) / it.cumQty;
    it.cumQty = cumQty;
    if (it.state === 'filled' || it.state === 'partially_filled') it.state = cumQty === 0n ? 'new' : 'partially_filled';
    it.closedAt = isClosed(it.state) ? it.closedAt : undefined;
  });
}

/** A wrong end, such as an expiry a day too early: the order works again. */
export function takeEndBack(exchange: Exchange, order: ExchangeOrder): void {
  exchange.change(order, 'taken_back', (it) => {
    it.state = it.cumQty > 0n ? 'partially_filled' : 'new';
    it.certainState = it.state;
    it.closedAt = undefined;
    it.rejectReason = undefined;
    it.rejectText = undefined;
  });
}

/**
 * A stop limit order becomes a limit order, a stop order a market order (specification, "Equity
 * order").
 */
export function triggerOrder(exchange: Exchange, order: ExchangeOrder): void {
  exchange.change(order, 'triggered', (it) => {
    it.workingOrderType = triggeredType(it.workingOrderType);
  });
}

/** The type of a stop or a stop limit once it was touched, in its stream's letters. */
export function triggeredType(stopType: string): string {
  const becomes = stopType.toLowerCase() === 'stop' ? 'market' : 'limit';
  return stopType === stopType.toUpperCase() ? becomes.toUpperCase() : becomes;
}

function amendedTerms(order: ExchangeOrder, asked: AskedTerms): WorkingTerms {
  const before = workingTermsOf(order);
  const timeInForce = asked.timeInForce ?? before.timeInForce;
  return {
    stopPrice: asked.stopPrice ?? before.stopPrice,
    timeInForce,
    // An expiry belongs to gtd alone: an order that became gtc must not end at the old one.
    expireAt: timeInForce === 'gtd' ? (asked.expireAt ?? before.expireAt) : undefined,
  };
}
