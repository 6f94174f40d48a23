import { z } from 'zod';
import { isOrderId } from '../domain/order.ts';
import { predictionReading } from './read-prediction-reply.ts';
import { predictionOrdersPath } from './wire/order-pages.ts';
import type { PredictionOrderWire } from './wire/prediction-order.ts';
import { type ReplaceRequest, replaceRequest } from './wire/replace-request.ts';
import { notSendable, type WriteDeps, type WriteOptions, writePlatform } from './write-platform.ts';
import type { WriteResult } from './write-result.ts';

/** `PATCH /v1/predictions/orders/{orderId}` (specification), on staging. `accepted`: seen pending, not yet applied. */
export async function replacePredictionOrder(
  deps: WriteDeps,
  baseUrl: string,
  orderId: string,
  terms: ReplaceRequest,
  options: WriteOptions = {},
): Promise<WriteResult<PredictionOrderWire>> {
  const body = replaceRequest.safeParse(terms);
  if (!body.success) return notSendable(z.prettifyError(body.error));
  if (!isOrderId('prediction', orderId)) return notSendable('orderId must be an id that an order can have');
  const url = `${baseUrl}${predictionOrdersPath}/${encodeURIComponent(orderId)}`;
  const request = { method: 'PATCH', url, body: JSON.stringify(body.data) } as const;
  const reading = predictionReading({ orderId, accountId: body.data.accountId });
  return writePlatform(deps, 'replace_prediction_order', request, reading, options);
}
