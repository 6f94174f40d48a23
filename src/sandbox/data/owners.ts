import type { DayPrices } from './day-prices.ts';
import { listingOf } from './listings.ts';
import { noise, numberOf } from './noise.ts';
import { type DayNumber, dayOf, dayText } from './trading-days.ts';

/** A holder of a company's shares, as last filed. */
export interface Holding {
  readonly name: string;
  readonly share: number;
  readonly change: number;
  /** YYYY-MM-DD. */
  readonly filingDate: string;
  readonly percentOfShares: number;
  readonly source: string;
}

const holders = [
  'Harbor Point Index Trust',
  'Meridian Asset Management',
  'Northgate Advisors',
  'Calder & Quist',
  'Blue Ridge Pension Fund',
  'Stonebridge Capital',
  'Old Mill Partners',
  'Sable Island Investments',
  'Pinnacle Teachers Retirement',
  'Estate of the Founder',
  'Longshore Research',
  'Twelve Oaks Family Office',
] as const;

/** The largest holders first; none for a symbol that is not listed. Of the last quarter whose filings are due. */
export function holdingsOf(prices: DayPrices, seed: number, symbol: string, limit: number): Holding[] {
  const listing = listingOf(symbol);
  if (listing === undefined || listing.thousandShares === 0) return [];
  const id = numberOf(symbol);
  const outstanding = listing.thousandShares * 1000;
  const filed = filingDay(prices.today);
  const holdings = holders.map((name, index): Holding => {
    const draw = (what: number) => noise(seed, id, index, what);
    // The first may hold 9 %, the last 0.3 %.
    const share = Math.floor(outstanding * (0.09 - index * 0.0077) * (0.5 + draw(0) / 2));
    const change = Math.floor(share * (draw(1) - 0.5) * 0.1);
    return {
      name,
      share,
      change,
      filingDate: dayText(filed - Math.floor(draw(2) * 20)),
      percentOfShares: Number(((share / outstanding) * 100).toFixed(4)),
      source: index === holders.length - 3 ? '' : '13F',
    };
  });
  return holdings.sort((a, b) => b.share - a.share).slice(0, limit);
}

/** 45 days after the end of the newest quarter for which that is over. */
function filingDay(today: DayNumber): DayNumber {
  const year = Number(dayText(today).slice(0, 4));
  const ends = [year - 1, year].flatMap((it) => [1, 4, 7, 10].map((month) => dayOf(it, month, 1) - 1));
  return Math.max(...ends.map((end) => end + 45).filter((due) => due <= today));
}
