import { type ExchangeOrder, leavesOf, type OrderState } from './exchange-order.ts';
import { averagePrice, formatFixed } from './fixed.ts';
import { instantText } from './instant-text.ts';
import { jsonText } from './json-text.ts';

const words: Readonly<Record<OrderState, string>> = {
  pending_new: 'PENDING_NEW',
  new: 'NEW',
  partially_filled: 'PARTIALLY_FILLED',
  filled: 'FILLED',
  canceled: 'CANCELED',
  rejected: 'REJECTED',
  expired: 'EXPIRED',
  done_for_day: 'DONE_FOR_DAY',
  suspended: 'SUSPENDED',
  replaced: 'REPLACED',
  // Account orders are never unknown; a venue that lost one would show its last certain state.
  unknown: 'NEW',
};

const pendingWords = { none: undefined, cancel: 'PENDING_CANCEL', replace: 'PENDING_REPLACE' } as const;

/** `ordStatus` (contract, "Equity and option orders"). */
export function accountStatus(order: ExchangeOrder): string {
  return pendingWords[order.pendingAction] ?? words[order.state];
}

/**
 * JSON of one account order: `payload.data` of an `account.order` event (specification, "Events"), or with `accountId` and `createdAt` the item of
 * the list. By concatenation: no slower than making an object for `JSON.stringify`, and the same way as for prediction orders, whose versions that cannot
 * write.
 */
export function encodeAccountOrder(order: ExchangeOrder, as: 'event' | 'item'): string {
  const terms = order.terms;
  let text = `{"ordId":"${terms.orderId}","clOrdId":${jsonText(terms.clOrdId)},"symbol":${jsonText(terms.symbol)},"side":"${terms.side}","type":"${terms.orderType}","timeInForce":"${terms.timeInForce}","qty":"${formatFixed(order.workingQuantity)}"`;
  if (terms.stopPrice !== undefined) text += `,"stopPrice":"${formatFixed(terms.stopPrice)}"`;
  if (order.workingPrice !== undefined) text += `,"price":"${formatFixed(order.workingPrice)}"`;
  const average = formatFixed(averagePrice(order.notional, order.cumQty));
  const legs = terms.legs?.length ?? 0;
  const kind = legs === 0 ? '"CS","category":"equity"' : legs === 1 ? '"OPT","category":"option"' : '"MLEG","category":"option"';
  text += `,"ordStatus":"${accountStatus(order)}","cumQty":"${formatFixed(order.cumQty)}","leavesQty":"${formatFixed(leavesOf(order))}","avgPrice":"${average}","securityType":${kind},"updatedAt":"${instantText(order.updatedAt)}"`;
  if (as === 'event') return `${text}}`;
  return `${text},"accountId":${jsonText(terms.account.id)},"createdAt":"${instantText(order.createdAt)}"}`;
}
