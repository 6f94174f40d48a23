import { stocks } from './listings.ts';
import { type DayNumber, dayOf, dayText, isTradingDay, parseDay, tradingDayBefore, weekdayOf } from './trading-days.ts';

/** An option on one of the stocks. */
export interface OptionContract {
  /** Compact OCC: `AAPL261218C00200000`. */
  readonly symbol: string;
  readonly underlying: string;
  readonly expires: DayNumber;
  readonly right: 'C' | 'P';
  /** Ticks of 0.01. */
  readonly strike: number;
}

const occ = /^([A-Z]{1,5}\d|[A-Z]{1,6})(\d{2})(\d{2})(\d{2})([CP])(\d{8})$/;
const underlyings = new Map(stocks.map(({ symbol }) => [rootOf(symbol), symbol]));
const friday = 5;

/**
 * A compact OCC symbol's contract, when it is listed: a known stock (an adjusted contract has a
 * digit behind it), a monthly expiry, a strike in whole dollars.
 */
export function optionContract(symbol: string): OptionContract | undefined {
  const match = occ.exec(symbol);
  if (match === null) return undefined;
  const [, root = '', year = '', month = '', day = '', right = '', strikeText = ''] = match;
  const underlying = underlyings.get(root) ?? underlyings.get(root.replace(/\d$/, ''));
  const expires = parseDay(`20${year}-${month}-${day}`);
  const strike = Number(strikeText) / 10;
  if (underlying === undefined || expires === undefined || strike === 0 || strike % 100 !== 0) return undefined;
  if (expires !== monthlyExpiry(2000 + Number(year), Number(month))) return undefined;
  return { symbol, underlying, expires, right: right === 'C' ? 'C' : 'P', strike };
}

/** Contracts around the price, for the next three expiries: nearest first. */
export function contractsAround(underlying: string, ticks: number, today: DayNumber): OptionContract[] {
  const dollars = Math.max(1, Math.round(ticks / 100));
  const step = dollars < 50 ? 1 : 5;
  const middle = Math.max(step, Math.round(dollars / step) * step);
  const contracts: OptionContract[] = [];
  for (const expires of nextExpiries(today, 3)) {
    for (const steps of [0, 1, -1, 2, -2]) {
      const strike = middle + steps * step;
      if (strike <= 0) continue;
      for (const right of ['C', 'P'] as const) contracts.push(contractOf(underlying, expires, right, strike * 100));
    }
  }
  return contracts;
}

/**
 * Intrinsic value and a time value that shrinks with the days left and the distance from the
 * strike; at least one tick. Made up, but without arbitrage.
 */
export function theoreticalTicks(contract: OptionContract, stockTicks: number, day: DayNumber): number {
  const intrinsic = Math.max(0, contract.right === 'C' ? stockTicks - contract.strike : contract.strike - stockTicks);
  const years = Math.max(0, contract.expires - day) / 365;
  const spread = 0.3 * Math.sqrt(years);
  const distance = spread === 0 ? 0 : Math.abs(stockTicks - contract.strike) / (stockTicks * spread);
  const time = 0.4 * stockTicks * spread * Math.exp((-distance * distance) / 2);
  return Math.max(1, Math.round(intrinsic + time));
}

function contractOf(underlying: string, expires: DayNumber, right: 'C' | 'P', strike: number): OptionContract {
  const symbol = `${rootOf(underlying)}${expiryText(expires)}${right}${String(strike * 10).padStart(8, '0')}`;
  return { symbol, underlying, expires, right, strike };
}

/** The next expiry after a day, as symbols write it: `261218`. */
export function expiryTextAfter(day: DayNumber): string {
  const [expires = day] = nextExpiries(day, 1);
  return expiryText(expires);
}

function expiryText(expires: DayNumber): string {
  return dayText(expires).replaceAll('-', '').slice(2);
}

/** Option symbols leave out the point in `BRK.B`. */
function rootOf(symbol: string): string {
  return symbol.replace('.', '');
}

function nextExpiries(today: DayNumber, count: number): DayNumber[] {
  const [year = 0, month = 0] = dayText(today).split('-').map(Number);
  const found: DayNumber[] = [];
  for (let ahead = 0; found.length < count; ahead += 1) {
    const expires = monthlyExpiry(year, month + ahead);
    if (expires > today) found.push(expires);
  }
  return found;
}

/**
 * The third Friday, or the trading day before it. Months above 12 run into the years that follow.
 */
function monthlyExpiry(year: number, month: number): DayNumber {
  const first = dayOf(year, month, 1);
  const thirdFriday = first + ((friday - weekdayOf(first) + 7) % 7) + 14;
  return isTradingDay(thirdFriday) ? thirdFriday : tradingDayBefore(thirdFriday);
}
