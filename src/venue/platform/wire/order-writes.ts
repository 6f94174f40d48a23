import { z } from 'zod';
import { longestOptionSymbol } from '../../../domain/symbol.ts';
import { accountOrderSides, accountOrderTimesInForce, accountOrderTypes } from './account-order.ts';
import { neededFlag, optionalText, text, textOrNone } from './optional-field.ts';
import {
  predictionOrderTypes,
  predictionOutcomes,
  predictionSides,
  predictionTimesInForce,
} from './prediction-order.ts';

/**
 * The body of `POST /v1/orders`. Specification, "Equity or option order request": every field and
 * length. Some examples there send `tradingAccountId` instead of `accountId`; we send `accountId`.
 *
 * Assumption: a leg's fields. Its symbol is compact OCC and so has up to 21 characters, one more
 * than the specification has for an order's own. `price` and `stopPrice` are sent only if the type
 * needs them.
 */
const orderRequestLeg = z.strictObject({
  symbol: text.min(1).max(longestOptionSymbol),
  side: z.enum(accountOrderSides),
  ratioQty: text,
  positionEffect: z.enum(['OPEN', 'CLOSE']),
});

export const orderRequest = z.strictObject({
  accountId: text.min(1).max(50),
  symbol: text.min(1).max(20),
  side: z.enum(accountOrderSides),
  type: z.enum(accountOrderTypes),
  qty: text,
  timeInForce: z.enum(accountOrderTimesInForce),
  clientId: text.max(50).optional(),
  price: textOrNone,
  stopPrice: textOrNone,
  currency: text.length(3).optional(),
  exDestination: text.max(10).optional(),
  legs: z.array(orderRequestLeg).max(4).optional(),
});

/**
 * The answer to `POST /v1/orders`. Specification, "Equity or option order response": the fields. It
 * names no order id; a platform that names one calls it `ordId`, as in its rows.
 *
 * Assumption: status 200 also when the order is rejected (`success` false); `clOrdId` repeats the
 * sent `clientId`, else is a UUID; every field is present but `text` and `ordRejReason`. A reader
 * needs `success` and one of the two names: they say if our order was accepted.
 */
export const orderResponse = z.looseObject({
  success: neededFlag,
  clOrdId: optionalText,
  ordId: optionalText,
  status: optionalText,
  symbol: optionalText,
  side: optionalText,
  qty: optionalText,
  cumQty: optionalText,
  leavesQty: optionalText,
  avgPrice: optionalText,
  text: optionalText,
  ordRejReason: optionalText,
  transactTime: optionalText,
});

/**
 * The body of `POST /v1/predictions/orders`. The specification names the endpoint only, so all this
 * is an **assumption**. Prices lie in (0, 1); `price`, `stopPx` and `expireTime` are there only if
 * the type or time in force needs them.
 */
export const predictionOrderRequest = z.strictObject({
  accountId: text.min(1),
  symbol: text.min(1),
  outcome: z.enum(predictionOutcomes),
  side: z.enum(predictionSides),
  orderType: z.enum(predictionOrderTypes),
  timeInForce: z.enum(predictionTimesInForce),
  quantity: text,
  price: textOrNone,
  stopPx: textOrNone,
  expireTime: textOrNone,
  clientOrderRef: z
    .string()
    .regex(/^[A-Za-z0-9._:-]{1,64}$/)
    .optional(),
});

/**
 * The body of `PATCH /v1/predictions/orders/{orderId}`. Specification, "Replace prediction order
 * request": no other field is accepted, a term left out keeps the working value. Canonical decimals
 * (no sign, no exponent) are our own strictness as a writer.
 */
export const replaceRequest = z.strictObject({
  accountId: text.min(1),
  quantity: textOrNone,
  price: textOrNone,
  stopPx: textOrNone,
  timeInForce: z.enum(predictionTimesInForce).optional(),
  expireTime: textOrNone,
});
