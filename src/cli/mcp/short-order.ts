import { present } from '../../contract/body-fields.ts';
import { clip } from '../io/format-text.ts';
import { instrumentText, type ListedOrder, sizeText } from '../io/order-text.ts';

/** Texts from outside have no bound. */
const mostText = 300;

/**
 * The fields a list needs. An order may have 256 KiB, mostly in fields that only the platform
 * knows.
 */
export function shortOrder({ stream, orderId, accountId, revision, order }: ListedOrder) {
  const { instrument, working, callerRef, rejectText } = order;
  const { side, orderType, timeInForce, status, quantity, notional, price, stopPrice, cumQty, leavesQty, avgPrice } =
    order;
  const { pendingAction, certainty, replaces, replacedBy, origin, commandId, updatedAt } = order;
  return present({
    ...{ stream, orderId, accountId, revision },
    ...{ symbol: instrument.symbol, outcome: instrument.outcome, legs: instrument.legs?.length },
    ...{ side, orderType, timeInForce, status, quantity, notional, price, stopPrice },
    ...{ workingQuantity: working.quantity, workingPrice: working.price, cumQty, leavesQty, avgPrice },
    ...{ pendingAction, certainty, replaces, replacedBy, origin, commandId },
    callerRef: callerRef === undefined ? undefined : clip(callerRef, mostText),
    rejectText: rejectText === undefined ? undefined : clip(rejectText, mostText),
    updatedAt,
  });
}

/** "account:o-1  SIM-1001  buy 5 of 10 AAPL limit at 187.5: partially_filled". */
export function orderLine({ stream, orderId, accountId, order }: ListedOrder): string {
  const price = order.working.price ?? order.price;
  const terms = `${order.side} ${sizeText(order)} ${instrumentText(order)} ${order.orderType}${price === undefined ? '' : ` at ${price}`}`;
  return `${stream}:${orderId}  ${accountId}  ${terms}, ${order.cumQty} filled: ${order.status}`;
}
