import { type ExchangeOrder, leavesOf } from './exchange-order.ts';
import { averagePrice, formatFixed } from './fixed.ts';
import { instantText } from './instant-text.ts';
import { jsonText } from './json-text.ts';

/**
 * JSON of one prediction order (specification, "Prediction order"), the same on the stream and in every reply. `version` is a JSON number with all its
 * digits, which `JSON.stringify` could not write. Optional fields are left out when absent, never zero; `avgPx` is required, and "0" until the first fill
 * (docs/decisions/012-avgpx-is-always-there.md).
 */
export function encodePredictionOrder(order: ExchangeOrder): string {
  const terms = order.terms;
  let text = `{"orderId":"${terms.orderId}","accountId":${jsonText(terms.account.id)},"symbol":${jsonText(terms.symbol)},"outcome":"${terms.outcome ?? 'YES'}","side":"${terms.side}","orderType":"${terms.orderType}","timeInForce":"${terms.timeInForce}","quantity":"${formatFixed(terms.quantity)}","workingQuantity":"${formatFixed(order.workingQuantity)}","state":"${order.state}","cumQty":"${formatFixed(order.cumQty)}","leavesQty":"${formatFixed(leavesOf(order))}","avgPx":"${formatFixed(averagePrice(order.notional, order.cumQty))}","createdAt":"${instantText(order.createdAt)}","updatedAt":"${instantText(order.updatedAt)}","certainty":"${order.certainty}"`;
  if (order.certaintyReason !== undefined) text += `,"certaintyReason":${jsonText(order.certaintyReason)}`;
  text += `,"clOrdId":${jsonText(terms.clOrdId)}`;
  if (terms.clientOrderRef !== undefined) text += `,"clientOrderRef":${jsonText(terms.clientOrderRef)}`;
  if (order.closedAt !== undefined) text += `,"closedAt":"${instantText(order.closedAt)}"`;
  if (terms.expireAt !== undefined) text += `,"expireTime":"${instantText(terms.expireAt)}"`;
  if (order.firstAckAt !== undefined) text += `,"firstAckAt":"${instantText(order.firstAckAt)}"`;
  text += `,"pendingAction":"${order.pendingAction}"`;
  if (terms.price !== undefined) text += `,"price":"${formatFixed(terms.price)}"`;
  if (terms.stopPrice !== undefined) text += `,"stopPx":"${formatFixed(terms.stopPrice)}"`;
  if (order.rejectReason !== undefined) text += `,"rejectReason":${jsonText(order.rejectReason)}`;
  if (order.rejectText !== undefined) text += `,"rejectText":${jsonText(order.rejectText)}`;
  if (order.sentAt !== undefined) text += `,"sentAt":"${instantText(order.sentAt)}"`;
  if (order.venueOrderId !== undefined) text += `,"venueOrderId":${jsonText(order.venueOrderId)}`;
  text += `,"version":${order.version},"workingOrderType":"${order.workingOrderType}"`;
  if (order.workingPrice !== undefined) text += `,"workingPrice":"${formatFixed(order.workingPrice)}"`;
  if (terms.placedBy !== undefined) text += `,"placedBy":${jsonText(terms.placedBy)}`;
  return `${text}}`;
}
