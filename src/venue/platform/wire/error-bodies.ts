import { z } from 'zod';
import { neededFlag, neededText, optionalField, optionalText, readableOf } from './optional-field.ts';

/**
 * An error may come in these shapes; a client must depend neither on one shape nor on message
 * texts.
 *
 * Specification ("General error bodies", "Prediction order errors", "Flat error body"): flat body,
 * nested body, prediction envelope, or no body; the prediction codes below.
 *
 * Assumption: each prediction error's `error.type`, that 401 and 403 from the prediction endpoints
 * use the nested body (403 with code `FORBIDDEN`), and `NOT_SPECIFIED` for endpoint groups without
 * a shape.
 */
export const flatError = z
  .looseObject({
    error: optionalField(z.string()),
    codes: optionalField(readableOf(z.looseObject({ code: neededText, description: optionalText }))),
    metadata: optionalField(z.looseObject({})),
  })
  .refine(({ error, codes = [] }) => error !== undefined || codes.length > 0);

export const nestedError = z.looseObject({
  error: z.looseObject({
    type: optionalText,
    code: optionalText,
    message: optionalText,
    meta: optionalField(z.looseObject({})),
  }),
});

/**
 * The part of an order response that says why the order was rejected (specification: "Order
 * responses signal rejection through success, text and ordRejReason"; it names no status).
 */
export const rejection = z
  .looseObject({ success: neededFlag, text: optionalText, ordRejReason: optionalText })
  .refine(({ success, text, ordRejReason }) => !success && (text !== undefined || ordRejReason !== undefined));

/** The nested body with `success: false` beside it. */
export const predictionError = nestedError.extend({ success: z.literal(false) });

/**
 * The prediction endpoints' status, `error.code` and `error.type` (replace is specified; place, get
 * and cancel are assumed to answer alike).
 */
export const predictionErrors = {
  INVALID_ORDER: { status: 400, type: 'invalid_request' },
  EMPTY_BODY: { status: 400, type: 'invalid_request' },
  INVALID_JSON: { status: 400, type: 'invalid_request' },
  UNKNOWN_FIELD: { status: 400, type: 'invalid_request' },
  ORDER_NOT_FOUND: { status: 404, type: 'not_found' },
  ORDER_NOT_ACTIONABLE: { status: 409, type: 'conflict' },
  ORDER_ENTRY_AT_CAPACITY: { status: 429, type: 'rate_limit' },
  ORDER_ENTRY_UNAVAILABLE: { status: 503, type: 'unavailable' },
  REQUEST_OUTCOME_UNKNOWN: { status: 504, type: 'timeout' },
} as const;

export type PredictionErrorCode = keyof typeof predictionErrors;
