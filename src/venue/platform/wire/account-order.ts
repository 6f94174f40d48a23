import { z } from 'zod';
import { text, textOrNone } from './optional-field.ts';

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
  symbol: text,
  side: text,
  ratioQty: text,
  positionEffect: textOrNone,
});

/**
 * `payload.data` in an `account.order` event. Enum-like fields are strings: a word we don't know is
 * carried as it came.
 */
export const accountOrderEventData = z.looseObject({
  ordId: text.min(1),
  clOrdId: textOrNone,
  symbol: text,
  side: text,
  type: text,
  timeInForce: text,
  qty: text,
  price: textOrNone,
  stopPrice: textOrNone,
  ordStatus: text,
  cumQty: text,
  leavesQty: text,
  avgPrice: textOrNone,
  /** Assumption: `CS` common stock, `OPT` one option leg, `MLEG` several. */
  securityType: textOrNone,
  category: textOrNone,
  updatedAt: text,
  legs: z.array(orderLeg).optional(),
  text: textOrNone,
  ordRejReason: textOrNone,
});

/** An item of `GET /v1/orders`, and the answer to `GET` and `DELETE /v1/orders/{ordId}`. */
export const accountOrderItem = accountOrderEventData.extend({
  accountId: text.min(1),
  createdAt: text,
});
