import { z } from 'zod';
import { predictionOrderTypes, predictionOutcomes, predictionSides, predictionTimesInForce } from './prediction-order.ts';

/**
 * Body of `POST /v1/predictions/orders`. The specification names the endpoint only: all of it is an **assumption**. Prices lie in (0, 1);
 * `price`, `stopPx` and `expireTime` stand where the type or time in force needs them and nowhere else.
 */
export const predictionOrderRequest = z.strictObject({
  accountId: z.string().min(1),
  symbol: z.string().min(1),
  outcome: z.enum(predictionOutcomes),
  side: z.enum(predictionSides),
  orderType: z.enum(predictionOrderTypes),
  timeInForce: z.enum(predictionTimesInForce),
  quantity: z.string(),
  price: z.string().optional(),
  stopPx: z.string().optional(),
  expireTime: z.string().optional(),
  clientOrderRef: z
    .string()
    .regex(/^[A-Za-z0-9._:-]{1,64}$/)
    .optional(),
});

export type PredictionOrderRequest = z.infer<typeof predictionOrderRequest>;
