import { isTradingDay, newYorkDay, newYorkInstant, session } from '../data/trading-days.ts';
import { type ExchangeOrder, workingTermsOf } from '../exchange/exchange-order.ts';

/** When the order ends by its time in force, in milliseconds since the epoch: a day order with the next close of the session, a gtd order at its expiry. */
export function expiryMs(order: ExchangeOrder, nowMs: number): number | undefined {
  const { timeInForce, expireAt } = workingTermsOf(order);
  if (timeInForce.toLowerCase() === 'day') return nextCloseMs(nowMs);
  return timeInForce === 'gtd' && expireAt !== undefined ? expireAt / 1000 : undefined;
}

/** The next end of a regular session in New York. */
export function nextCloseMs(nowMs: number): number {
  for (let day = newYorkDay(nowMs); ; day += 1) {
    const closeMs = newYorkInstant(day, session.closesAt);
    if (isTradingDay(day) && closeMs > nowMs) return closeMs;
  }
}
