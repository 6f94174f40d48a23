import { z } from 'zod';
import { predictionOrder } from './prediction-order.ts';

/** Success of a prediction endpoint: `{ success: true, data }`. Specification, "Prediction envelopes". Errors: error-bodies.ts. */
export function predictionEnvelope<T extends z.ZodType>(data: T) {
  return z.looseObject({ success: z.literal(true), data });
}

/** Place, replace, get and cancel answer with the order. The specification says so of replace; of the others it is an assumption. */
export const predictionOrderReply = predictionEnvelope(predictionOrder);

/** The envelope before its content is looked at. */
export const rawPredictionAnswer = predictionEnvelope(z.unknown());

export type PredictionOrderReply = z.infer<typeof predictionOrderReply>;
