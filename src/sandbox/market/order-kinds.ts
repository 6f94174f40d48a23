import type { Clock } from '../../runtime/clock.ts';
import type { ExchangeOrder } from '../exchange/exchange-order.ts';

// Account orders write these words in capitals, prediction orders in small letters. Sets: they are asked for at every step of the market.
const stops: ReadonlySet<string> = new Set(['stop', 'stop_limit', 'STOP', 'STOP_LIMIT']);
const immediateOrCancel: ReadonlySet<string> = new Set(['ioc', 'IOC']);
const fillOrKill: ReadonlySet<string> = new Set(['fok', 'FOK']);

/** A stop that was not touched yet: it must not trade. */
export function isStop(order: ExchangeOrder): boolean {
  return stops.has(order.workingOrderType);
}

export function isImmediateOrCancel(order: ExchangeOrder): boolean {
  return immediateOrCancel.has(timeInForceOf(order));
}

export function isFillOrKill(order: ExchangeOrder): boolean {
  return fillOrKill.has(timeInForceOf(order));
}

/** Whether the time in force lets the order expire: a day order with any session, for the market's own have no hours; a gtd order once it is due. */
export function mayExpire(order: ExchangeOrder, clock: Pick<Clock, 'nowMs'>): boolean {
  const timeInForce = timeInForceOf(order);
  return timeInForce === 'day' || timeInForce === 'DAY' || isDue(order, clock);
}

/** A gtd order whose time has come. */
export function isDue(order: ExchangeOrder, clock: Pick<Clock, 'nowMs'>): boolean {
  const { expireAt } = order.amended ?? order.terms;
  return expireAt !== undefined && expireAt <= clock.nowMs() * 1000;
}

function timeInForceOf(order: ExchangeOrder): string {
  return (order.amended ?? order.terms).timeInForce;
}
