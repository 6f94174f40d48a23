import { z } from 'zod';
import { predictionTimesInForce } from './prediction-order.ts';

/**
 * Body of `PATCH /v1/predictions/orders/{orderId}`. Specification, "Replace prediction order request": no other field is accepted, a term left
 * out keeps the working value. That decimals are canonical (no sign, no exponent) is our own strictness as a writer.
 */
export const replaceRequest = z.strictObject({
  accountId: z.string().min(1),
  quantity: z.string().optional(),
  price: z.string().optional(),
  stopPx: z.string().optional(),
  timeInForce: z.enum(predictionTimesInForce).optional(),
  expireTime: z.string().optional(),
});

export type ReplaceRequest = z.infer<typeof replaceRequest>;
