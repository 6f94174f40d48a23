import { z } from 'zod';

/**
 * Equity and option orders.
 *
 * Specification ("Events", "Equity or option order response"): the fields in an `account.order`
 * event's `payload.data`; decimals are strings; `ordStatus` shows at least `NEW` and
 * `PARTIALLY_FILLED`.
 *
 * Assumption: the further `ordStatus` values; `legs` and their fields; a list item and the answer
 * to the get have the event's fields and `accountId` and `createdAt` besides; events leave out
 * `price` and `stopPrice` if the type has none; `avgPrice` is absent before a fill.
 */
export const accountOrderStatuses = [
  'PENDING_NEW',
  'NEW',
  'PARTIALLY_FILLED',
  'FILLED',
  'PENDING_CANCEL',
  'CANCELED',
  'PENDING_REPLACE',
  'REPLACED',
  'REJECTED',
  'EXPIRED',
  'DONE_FOR_DAY',
  'SUSPENDED',
] as const;

export const accountOrderSides = ['BUY', 'SELL', 'SELL_SHORT', 'BUY_TO_COVER'] as const;
export const accountOrderTypes = ['MARKET', 'LIMIT', 'STOP', 'STOP_LIMIT'] as const;
export const accountOrderTimesInForce = ['DAY', 'GTC', 'IOC', 'FOK'] as const;

/**
 * Assumption: a leg's fields. `symbol` is compact OCC (`AAPL261218C00200000`), `ratioQty` a decimal
 * string.
 */
const orderLeg = z.looseObject({
  symbol: z.string(),
  side: z.string(),
  ratioQty: z.string(),
  positionEffect: z.string().optional(),
});

/**
 * `payload.data` in an `account.order` event. Enum-like fields are strings: a word we don't know is
 * carried as it came.
 */
export const accountOrderEventData = z.looseObject({
  ordId: z.string().min(1),
  clOrdId: z.string().optional(),
  symbol: z.string(),
  side: z.string(),
  type: z.string(),
  timeInForce: z.string(),
  qty: z.string(),
  price: z.string().optional(),
  stopPrice: z.string().optional(),
  ordStatus: z.string(),
  cumQty: z.string(),
  leavesQty: z.string(),
  avgPrice: z.string().optional(),
  /** Assumption: `CS` common stock, `OPT` one option leg, `MLEG` several. */
  securityType: z.string().optional(),
  category: z.string().optional(),
  updatedAt: z.string(),
  legs: z.array(orderLeg).optional(),
  text: z.string().optional(),
  ordRejReason: z.string().optional(),
});

/** An item of `GET /v1/orders`, and the answer to `GET` and `DELETE /v1/orders/{ordId}`. */
export const accountOrderItem = accountOrderEventData.extend({
  accountId: z.string().min(1),
  createdAt: z.string(),
});
