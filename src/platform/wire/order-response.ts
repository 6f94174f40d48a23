import { z } from 'zod';

/**
 * Answer of `POST /v1/orders`. Specification, "Equity or option order response": the fields. It names no order id.
 *
 * Assumption: status 200 also when the order is rejected (`success` false); `clOrdId` repeats the `clientId` that was sent, else is a UUID;
 * every field is present but `text` and `ordRejReason`.
 */
export const orderResponse = z.looseObject({
  success: z.boolean(),
  clOrdId: z.string(),
  status: z.string(),
  symbol: z.string(),
  side: z.string(),
  qty: z.string(),
  cumQty: z.string().optional(),
  leavesQty: z.string().optional(),
  avgPrice: z.string().optional(),
  text: z.string().optional(),
  ordRejReason: z.string().optional(),
  transactTime: z.string().optional(),
});

export type OrderResponse = z.infer<typeof orderResponse>;
