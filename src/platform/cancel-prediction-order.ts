import { isOrderId } from '../domain/order.ts';
import { predictionReading } from './read-prediction-reply.ts';
import { predictionOrdersPath } from './wire/order-pages.ts';
import type { PredictionOrderWire } from './wire/prediction-order.ts';
import { notSendable, type WriteDeps, type WriteOptions, writePlatform } from './write-platform.ts';
import type { WriteResult } from './write-result.ts';

/** `DELETE /v1/predictions/orders/{orderId}?accountId=` (docs/platform-assumptions.md), on staging. `accepted`: the cancel awaits the venue. */
export async function cancelPredictionOrder(
  deps: WriteDeps,
  baseUrl: string,
  accountId: string,
  orderId: string,
  options: WriteOptions = {},
): Promise<WriteResult<PredictionOrderWire>> {
  if (accountId === '' || !isOrderId('prediction', orderId))
    return notSendable('accountId and orderId must be ids that an order and its account can have');
  const url = `${baseUrl}${predictionOrdersPath}/${encodeURIComponent(orderId)}?${new URLSearchParams({ accountId })}`;
  const reading = predictionReading({ orderId, accountId });
  return writePlatform(deps, 'cancel_prediction_order', { method: 'DELETE', url }, reading, options);
}
