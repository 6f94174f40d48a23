import { z } from 'zod';

/**
 * The prediction order resource.
 *
 * Specification ("Prediction order"): every field, which are required, the `state`, `certainty` and
 * `pendingAction` values; `version` is int64 and optional in replies.
 *
 * Assumption: `closedAt` is present once closed, and `version` is always present on the stream. A
 * reader does without `avgPx` although the table calls it required: a platform that took it for an
 * optional decimal ("omitted when absent") would lose every order before its first fill.
 */
export const predictionStates = [
  'pending_new',
  'new',
  'partially_filled',
  'filled',
  'canceled',
  'rejected',
  'expired',
  'done_for_day',
  'unknown',
] as const;

export const certainties = ['certain', 'unknown_unacked', 'unknown_gap', 'unknown_store_lost'] as const;
export const pendingActions = ['none', 'replace', 'cancel'] as const;
export const predictionOutcomes = ['YES', 'NO'] as const;
export const predictionTimesInForce = ['day', 'gtc', 'ioc', 'fok', 'gtd'] as const;
/** Assumption. */
export const predictionSides = ['buy', 'sell'] as const;
/** Assumption. */
export const predictionOrderTypes = ['market', 'limit', 'stop', 'stop_limit'] as const;

/**
 * As a reader sees it. `version` is a JSON number on the wire and may exceed 2^53 − 1: `parseJson`
 * hands it over as the digits in the text, so here it is a string.
 */
export const predictionOrder = z.looseObject({
  orderId: z.string().min(1),
  accountId: z.string().min(1),
  symbol: z.string(),
  outcome: z.string(),
  side: z.string(),
  orderType: z.string(),
  timeInForce: z.string(),
  quantity: z.string(),
  workingQuantity: z.string(),
  state: z.string(),
  cumQty: z.string(),
  leavesQty: z.string(),
  avgPx: z.string().optional(),
  createdAt: z.string(),
  updatedAt: z.string(),
  certainty: z.string().optional(),
  certaintyReason: z.string().optional(),
  clOrdId: z.string().optional(),
  clientOrderRef: z.string().optional(),
  closedAt: z.string().optional(),
  expireTime: z.string().optional(),
  firstAckAt: z.string().optional(),
  pendingAction: z.string().optional(),
  price: z.string().optional(),
  stopPx: z.string().optional(),
  rejectReason: z.string().optional(),
  rejectText: z.string().optional(),
  sentAt: z.string().optional(),
  venueOrderId: z.string().optional(),
  version: z.string().optional(),
  workingOrderType: z.string().optional(),
  workingPrice: z.string().optional(),
  placedBy: z.string().optional(),
});
