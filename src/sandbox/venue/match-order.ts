import type { Fixed } from '../exchange/fixed.ts';

/** What matching has to know of an order. Words in lower case, whatever its stream writes. */
export interface Matchable {
  readonly buys: boolean;
  readonly type: 'market' | 'limit' | 'stop' | 'stop_limit';
  /** Absent for market and stop orders. */
  readonly limit: Fixed | undefined;
  readonly stop: Fixed | undefined;
  readonly left: Fixed;
  readonly timeInForce: string;
}

/** One look of the market at an order: the price of the moment, and how much may trade at it. */
export interface Print {
  readonly price: Fixed;
  readonly available: Fixed;
}

export interface Match {
  /** The stop price was touched now. */
  readonly triggered: boolean;
  /** 0 when nothing trades. */
  readonly quantity: Fixed;
  /** More would trade if there were more: the order waits for quantity, not for a price. */
  readonly hungry: boolean;
  /** What is left must not rest: ioc, or fok that cannot be filled at once. */
  readonly ends: boolean;
}

/**
 * What one print does to one order. A stop waits until its price is touched and is then a market order; a touched stop limit is a limit order at its
 * price, which fills at that price or better, in part or not at all, and rests (specification, "Equity order"). Never more than is left, never worse than
 * the limit. ioc and fok are judged at the first print after the trigger.
 */
export function matchOrder(order: Matchable, print: Print): Match {
  const stopped = order.type === 'stop' || order.type === 'stop_limit';
  if (stopped && !isTouched(order, print.price)) return { triggered: false, quantity: 0n, hungry: false, ends: false };
  const marketable = order.limit === undefined || (order.buys ? print.price <= order.limit : print.price >= order.limit);
  const most = print.available < order.left ? print.available : order.left;
  const allOrNone = order.timeInForce === 'fok';
  const quantity = !marketable || (allOrNone && most < order.left) ? 0n : most;
  const isShort = quantity < order.left;
  return {
    triggered: stopped,
    quantity,
    hungry: marketable && isShort,
    ends: isShort && (allOrNone || order.timeInForce === 'ioc'),
  };
}

/** The market has come to the stop price; without one at once. */
export function isTouched(order: Pick<Matchable, 'buys' | 'stop'>, price: Fixed): boolean {
  if (order.stop === undefined) return true;
  return order.buys ? price >= order.stop : price <= order.stop;
}
