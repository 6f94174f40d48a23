import { z } from 'zod';
import { predictionReading } from './read-prediction-reply.ts';
import { predictionOrdersPath } from './wire/order-pages.ts';
import type { PredictionOrderWire } from './wire/prediction-order.ts';
import { type PredictionOrderRequest, predictionOrderRequest } from './wire/prediction-order-request.ts';
import { notSendable, type WriteDeps, type WriteOptions, writePlatform } from './write-platform.ts';
import type { WriteResult } from './write-result.ts';

/** Writes carry a reference, by which their order is found again. */
export type ReferencedPredictionOrder = PredictionOrderRequest & { readonly clientOrderRef: string };

/** `POST /v1/predictions/orders` (docs/platform-assumptions.md), on staging. `accepted`: `pending_new`, the venue has not answered. */
export async function placePredictionOrder(
  deps: WriteDeps,
  baseUrl: string,
  order: ReferencedPredictionOrder,
  options: WriteOptions = {},
): Promise<WriteResult<PredictionOrderWire>> {
  const body = predictionOrderRequest.required({ clientOrderRef: true }).safeParse(order);
  if (!body.success) return notSendable(z.prettifyError(body.error));
  const { accountId, clientOrderRef, symbol, outcome, side } = body.data;
  const request = { method: 'POST', url: `${baseUrl}${predictionOrdersPath}`, body: JSON.stringify(body.data) } as const;
  const reading = predictionReading({ accountId, clientOrderRef, symbol, outcome, side });
  return writePlatform(deps, 'place_prediction_order', request, reading, options);
}
