import { z } from 'zod';
import { accountOrderSides, accountOrderTimesInForce, accountOrderTypes } from './account-order.ts';

/**
 * Body of `POST /v1/orders`. Specification, "Equity or option order request": every field and length. Some examples there send
 * `tradingAccountId` instead of `accountId`; we send `accountId`.
 *
 * Assumption: the fields of a leg; `price` and `stopPrice` are sent where the type needs them and nowhere else.
 */
export const orderRequestLeg = z.strictObject({
  symbol: z.string().min(1).max(20),
  side: z.enum(accountOrderSides),
  ratioQty: z.string(),
  positionEffect: z.enum(['OPEN', 'CLOSE']),
});

export const orderRequest = z.strictObject({
  accountId: z.string().min(1).max(50),
  symbol: z.string().min(1).max(20),
  side: z.enum(accountOrderSides),
  type: z.enum(accountOrderTypes),
  qty: z.string(),
  timeInForce: z.enum(accountOrderTimesInForce),
  clientId: z.string().max(50).optional(),
  price: z.string().optional(),
  stopPrice: z.string().optional(),
  currency: z.string().length(3).optional(),
  exDestination: z.string().max(10).optional(),
  legs: z.array(orderRequestLeg).max(4).optional(),
});

export type OrderRequestLeg = z.infer<typeof orderRequestLeg>;
export type OrderRequest = z.infer<typeof orderRequest>;
