import { encodeAccountOrder } from './encode-account-order.ts';
import { encodePredictionOrder } from './encode-prediction-order.ts';
import type { ExchangeOrder } from './exchange-order.ts';

/** The order as its list and its get show it. */
export function encodeRow(order: ExchangeOrder): string {
  return order.terms.stream === 'account' ? encodeAccountOrder(order, 'item') : encodePredictionOrder(order);
}
