import { optionContract, theoreticalTicks } from '../data/option-contracts.ts';
import { type DayNumber, isTradingDay, newYorkDay, newYorkInstant, session } from '../data/trading-days.ts';
import { type ExchangeOrder, type Leg, type OrderTerms, workingTermsOf } from '../exchange/exchange-order.ts';
import { type Fixed, parseFixed } from '../exchange/wire-text.ts';
import type { Instrument } from '../market/instruments.ts';
import { priceOf } from '../market/invent-terms.ts';

/** When a day order's session closes next, or a gtd order expires: milliseconds since 1970. */
export function expiryMs(order: ExchangeOrder, nowMs: number): number | undefined {
  const { timeInForce, expireAt } = workingTermsOf(order);
  if (timeInForce.toLowerCase() === 'day') return nextCloseMs(nowMs);
  return timeInForce === 'gtd' && expireAt !== undefined ? expireAt / 1000 : undefined;
}

/** The next end of a regular session in New York. */
export function nextCloseMs(nowMs: number): number {
  return nextInSession(nowMs, session.closesAt);
}

/** The next time so many minutes after midnight on a trading day in New York. */
export function nextInSession(nowMs: number, minutes: number): number {
  for (let day = newYorkDay(nowMs); ; day += 1) {
    const atMs = newYorkInstant(day, minutes);
    if (isTradingDay(day) && atMs > nowMs) return atMs;
  }
}

/**
 * The venue's present price for these terms: an equity's walk, an option's or the whole
 * combination's worth (net over all legs, at least a tick), a prediction market's walk for YES and
 * the rest to 1 for NO.
 */
export function referencePrice(terms: OrderTerms, instrument: Instrument, today: DayNumber): Fixed {
  if (terms.stream === 'prediction') return priceOf(terms.outcome === 'NO' ? 100 - instrument.ticks : instrument.ticks);
  if (terms.legs === undefined || terms.legs.length === 0) return priceOf(instrument.ticks);
  const opening = terms.side.startsWith('BUY') ? 1n : -1n;
  let net = 0n;
  for (const leg of terms.legs) {
    const direction = leg.side.startsWith('BUY') ? opening : -opening;
    net += direction * (parseFixed(leg.ratioQty) ?? 0n) * BigInt(premiumTicks(leg, instrument, today));
  }
  // A ratio of 1 is 10^12; a tick is 10^10.
  const price = net / 100n;
  return price > priceOf(1) ? price : priceOf(1);
}

/** Order entry lets only listed contracts in. */
function premiumTicks(leg: Leg, instrument: Instrument, today: DayNumber): number {
  const contract = optionContract(leg.symbol);
  return contract === undefined ? 1 : theoreticalTicks(contract, instrument.ticks, today);
}

/** An order's fields that matching needs. Words in lower case, for both streams. */
export interface Matchable {
  readonly buys: boolean;
  readonly type: 'market' | 'limit' | 'stop' | 'stop_limit';
  /** Absent for market and stop orders. */
  readonly limit: Fixed | undefined;
  readonly stop: Fixed | undefined;
  readonly left: Fixed;
  readonly timeInForce: string;
}

/** One market look at an order: the price now, and how much may trade at it. */
export interface Print {
  readonly price: Fixed;
  readonly available: Fixed;
}

interface Match {
  /** The stop price was touched now. */
  readonly triggered: boolean;
  /** 0 when nothing trades. */
  readonly quantity: Fixed;
  /** More would trade if there were more: the order waits for quantity, not for a price. */
  readonly hungry: boolean;
  /** Its rest must not wait on the book: ioc, or fok that cannot be filled at once. */
  readonly ends: boolean;
}

/**
 * One print's effect on one order. A stop waits until its price is touched and is then a market
 * order. A touched stop limit is a limit order at its price: it fills at that price or better, in
 * part or not at all, and rests (specification, "Equity order"). Never more than is left, never
 * worse than the limit. ioc and fok are judged at the first print after the trigger.
 */
export function matchOrder(order: Matchable, print: Print): Match {
  const stopped = order.type === 'stop' || order.type === 'stop_limit';
  if (stopped && !isTouched(order, print.price)) return { triggered: false, quantity: 0n, hungry: false, ends: false };
  const marketable =
    order.limit === undefined || (order.buys ? print.price <= order.limit : print.price >= order.limit);
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
