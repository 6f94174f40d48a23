import { z } from 'zod';
import { text, textOrNone } from './optional-field.ts';

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
  orderId: text.min(1),
  accountId: text.min(1),
  symbol: text,
  outcome: text,
  side: text,
  orderType: text,
  timeInForce: text,
  quantity: text,
  workingQuantity: text,
  state: text,
  cumQty: text,
  leavesQty: text,
  avgPx: textOrNone,
  createdAt: text,
  updatedAt: text,
  certainty: textOrNone,
  certaintyReason: textOrNone,
  clOrdId: textOrNone,
  clientOrderRef: textOrNone,
  closedAt: textOrNone,
  expireTime: textOrNone,
  firstAckAt: textOrNone,
  pendingAction: textOrNone,
  price: textOrNone,
  stopPx: textOrNone,
  rejectReason: textOrNone,
  rejectText: textOrNone,
  sentAt: textOrNone,
  venueOrderId: textOrNone,
  version: textOrNone,
  workingOrderType: textOrNone,
  workingPrice: textOrNone,
  placedBy: textOrNone,
});
