import { noise, numberOf } from './daily-bars.ts';
import type { DayPrices } from './day-prices.ts';
import { type OptionContract, theoreticalTicks } from './option-contracts.ts';
import { type DayNumber, isTradingDay, newYorkInstant, session, tradingDayBefore } from './trading-days.ts';

/** One option quote. Prices in ticks of 0.01. */
export interface OptionQuote {
  readonly bid: number;
  readonly bidSize: number;
  readonly bidExchange: number;
  readonly ask: number;
  readonly askSize: number;
  readonly askExchange: number;
  /** Rises with time, over all days. */
  readonly sequence: number;
  /** Nanoseconds since the epoch. */
  readonly at: bigint;
}

/** Strictly between two instants, in nanoseconds. */
export interface QuoteRange {
  readonly after: bigint;
  readonly before: bigint;
}

/** Quoted days before now, or before an expired contract's last one. */
const quotedDays = 60;
const everyNs = 20_000_000_000;
const quotesPerDay = ((session.closesAt - session.opensAt) * 60_000_000_000) / everyNs;
const exchanges = [300, 301, 302, 303, 307, 309, 312, 313, 316, 322, 325] as const;

/**
 * A contract's quotes inside a range, in the requested order, at most `limit`; one every 20 s in
 * each session, each at a nanosecond of its own. They are made when they are asked for: 70,000
 * quotes for thousands of contracts need not be kept.
 */
export function quotesOf(
  deps: { prices: DayPrices; seed: number; nowMs: number },
  contract: OptionContract,
  range: QuoteRange,
  order: 'asc' | 'desc',
  limit: number,
): { quotes: OptionQuote[]; more: boolean } {
  const days = quotedDaysOf(contract, deps.prices.today);
  if (order === 'asc') days.reverse();
  const now = BigInt(Math.floor(deps.nowMs)) * 1_000_000n;
  const before = range.before < now ? range.before : now;
  const quotes: OptionQuote[] = [];
  for (const day of days) {
    const opensNs = BigInt(newYorkInstant(day, session.opensAt)) * 1_000_000n;
    if (opensNs >= before || opensNs + BigInt(quotesPerDay * everyNs) <= range.after) continue;
    for (let turn = 0; turn < quotesPerDay; turn += 1) {
      const index = order === 'asc' ? turn : quotesPerDay - 1 - turn;
      const at = instantOf(deps.seed, contract, day, index, opensNs);
      if (at <= range.after || at >= before) continue;
      if (quotes.length === limit) return { quotes, more: true };
      quotes.push(quoteAt(deps, contract, day, index, at));
    }
  }
  return { quotes, more: false };
}

/** Newest first. */
function quotedDaysOf(contract: OptionContract, today: DayNumber): DayNumber[] {
  const newest = Math.min(today, contract.expires);
  const days: DayNumber[] = [];
  for (
    let day = isTradingDay(newest) ? newest : tradingDayBefore(newest);
    days.length < quotedDays;
    day = tradingDayBefore(day)
  )
    days.push(day);
  return days;
}

function instantOf(seed: number, contract: OptionContract, day: DayNumber, index: number, opensNs: bigint): bigint {
  const jitter = Math.floor(noise(seed, numberOf(contract.symbol), day, index, 1) * everyNs);
  return opensNs + BigInt(index * everyNs + jitter);
}

function quoteAt(
  deps: { prices: DayPrices; seed: number },
  contract: OptionContract,
  day: DayNumber,
  index: number,
  at: bigint,
): OptionQuote {
  const draw = (what: number) => noise(deps.seed, numberOf(contract.symbol), day, index, what);
  const stock = deps.prices.at(contract.underlying, day, index / quotesPerDay) ?? contract.strike;
  const middle = theoreticalTicks(contract, stock, day);
  const half = Math.max(1, Math.round(middle * 0.01));
  const exchange = (what: number) => exchanges[Math.floor(draw(what) * exchanges.length)] ?? exchanges[0];
  return {
    bid: Math.max(0, middle - half),
    bidSize: 1 + Math.floor(draw(2) * 200),
    bidExchange: exchange(3),
    ask: middle + half,
    askSize: 1 + Math.floor(draw(4) * 200),
    askExchange: exchange(5),
    sequence: day * quotesPerDay + index,
    at,
  };
}
