import { z } from 'zod';
import { accountOrderItem } from './account-order.ts';
import { flagOf, listOf, neededText } from './optional-field.ts';
import { predictionOrder } from './prediction-order.ts';

/**
 * The order lists. The specification names them and shows nothing, so all this is an
 * **assumption**: `GET /v1/orders` with `accountId`, `clOrdId`, `status=open|closed|all`,
 * `updatedAfter` (strictly later than), `cursor`, `limit` (1 to 500, default 100); `GET
 * /v1/predictions/orders` with `clientOrderRef` and `state` in place of the middle two; oldest
 * change first; `nextCursor` absent on the last page.
 */
export const accountOrderPage = z.looseObject({
  orders: z.array(accountOrderItem),
  nextCursor: z.string().min(1).optional(),
});

export const predictionOrderPage = predictionEnvelope(
  z.looseObject({ orders: z.array(predictionOrder), nextCursor: z.string().min(1).optional() }),
);

/** A page before its rows are looked at: one bad row must not hide the others. */
export const rawPage = z.looseObject({
  orders: listOf(z.unknown()),
  // Not `optionalField`: a cursor that can't be read is no end of the list.
  nextCursor: z.preprocess((value) => (value === null || value === '' ? undefined : value), neededText.optional()),
});

export const ordersPath = '/v1/orders';
export const predictionOrdersPath = '/v1/predictions/orders';
export const pageLimit = { default: 100, max: 500 } as const;
export const listStates = ['open', 'closed', 'all'] as const;
export type ListState = (typeof listStates)[number];

/**
 * A prediction endpoint's success: `{ success: true, data }`. Specification, "Prediction
 * envelopes". Errors: error-bodies.ts.
 */
function predictionEnvelope<T extends z.ZodType>(data: T) {
  return z.looseObject({ success: z.literal(true), data });
}

/**
 * Place, replace, get and cancel answer with the order. The specification says so about replace;
 * about the others it is an assumption.
 */
export const predictionOrderReply = predictionEnvelope(predictionOrder);

/**
 * The envelope before its content is looked at. Only a word that says no is a no: the content shows
 * the rest.
 */
export const rawPredictionAnswer = z.looseObject({
  success: z
    .unknown()
    .optional()
    .refine((word) => flagOf(word) !== false),
  data: z.unknown(),
});
