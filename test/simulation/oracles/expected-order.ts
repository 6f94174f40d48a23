import type { ExchangeOrder, OrderState } from '../../../src/sandbox/exchange/exchange-order.ts';
import { isClosed, leavesOf } from '../../../src/sandbox/exchange/exchange-order.ts';
import { averagePrice, type Fixed, formatFixed, instantText } from '../../../src/sandbox/exchange/wire-text.ts';

/** What of a normalised order is held against the platform's truth; undefined: must be absent. */
type ExpectedOrder = Readonly<Record<string, string | undefined>>;

/**
 * What we must show of an order once everything has arrived: written from the platform's own
 * fields, without any code of ours that reads or normalises.
 */
export function expectedOrder(order: ExchangeOrder): ExpectedOrder {
  const { terms } = order;
  const pending = isClosed(order.state) ? 'none' : order.pendingAction;
  const shared = {
    accountId: terms.account.id,
    symbol: terms.symbol,
    // The platform writes capitals on accounts; records write small letters on both streams.
    side: terms.side.toLowerCase(),
    cumQty: formatFixed(order.cumQty),
    leavesQty: formatFixed(leavesOf(order)),
    avgPrice: order.cumQty === 0n ? undefined : formatFixed(averagePrice(order.notional, order.cumQty)),
    stopPrice: text(terms.stopPrice),
    updatedAt: instantText(order.updatedAt),
    pendingAction: pending,
    workingQuantity: formatFixed(order.workingQuantity),
    workingPrice: text(order.workingPrice),
  };
  if (terms.stream === 'prediction') {
    return {
      ...shared,
      status: order.state,
      certainty: order.certainty,
      quantity: formatFixed(terms.quantity),
      price: text(terms.price),
      rejectReason: order.rejectReason,
      venueOrderId: order.venueOrderId,
    };
  }
  return {
    ...shared,
    status: pending === 'none' ? order.state : workingState(order),
    quantity: formatFixed(order.workingQuantity),
    price: text(order.workingPrice),
  };
}

/**
 * An account order that waits for a cancel or replace shows only
 * that: where it stands is told by its fills.
 */
function workingState(order: ExchangeOrder): OrderState {
  return order.cumQty > 0n ? 'partially_filled' : 'new';
}

function text(value: Fixed | undefined): string | undefined {
  return value === undefined ? undefined : formatFixed(value);
}
