import { accountTarget, eventNames } from '../../platform/wire/event-envelope.ts';
import { encodeAccountOrder, encodePredictionOrder } from '../exchange/encode-row.ts';
import type { ExchangeOrder } from '../exchange/exchange-order.ts';
import { instantText, jsonText } from '../exchange/wire-text.ts';

/** `payload.data` of the order's event. */
export function encodeEventData(order: ExchangeOrder): string {
  return order.terms.stream === 'account' ? encodeAccountOrder(order, 'event') : encodePredictionOrder(order);
}

/** The whole event (specification, "Events") around data that is JSON already. */
export function encodeEvent(order: ExchangeOrder, data: string): string {
  const { stream, account } = order.terms;
  return `{"type":"event","timestamp":"${instantText(order.updatedAt)}","payload":{"topic":"${stream}","name":"${eventNames[stream]}","target":${jsonText(accountTarget(account.id))},"data":${data}}}`;
}
