import type { FdaEvent, Theme } from '../../venue/platform/wire/research.ts';
import { noise, numberOf } from './daily-bars.ts';
import type { DayPrices } from './day-prices.ts';
import { listingOf, stocks } from './listings.ts';
import { type DayNumber, dayOf, dayText, isTradingDay } from './trading-days.ts';

const committees = [
  'Oncologic Drugs',
  'Vaccines and Related Biological Products',
  'Cardiovascular and Renal Drugs',
  'Psychopharmacologic Drugs',
  'Antimicrobial Drugs',
  'Endocrinologic and Metabolic Drugs',
] as const;
const weekDays = 7;

/**
 * The FDA advisory committees' meetings, oldest first: one a week on a working day, two of them
 * over.
 */
export function committeeMeetings(seed: number, today: DayNumber, count: number): FdaEvent[] {
  const week = Math.floor(today / weekDays);
  return Array.from({ length: count }, (_, turn) => meetingOf(seed, week - 2 + turn));
}

/** A week's meeting is the same whenever it is asked for. */
function meetingOf(seed: number, week: number): FdaEvent {
  let day = week * weekDays + Math.floor(noise(seed, week, 0) * weekDays);
  while (!isTradingDay(day)) day += 1;
  const committee = committees[Math.floor(noise(seed, week, 1) * committees.length)] ?? committees[0];
  const lastDay = noise(seed, week, 2) < 0.25 ? day + 1 : day;
  return {
    fromDate: `${dayText(day)} 08:30:00`,
    toDate: `${dayText(lastDay)} 17:00:00`,
    eventDescription: `${dayText(day)}: Meeting of the ${committee} Advisory Committee`,
    url: `https://fda.example/advisory-committees/${dayText(day)}-${committee.toLowerCase().replaceAll(' ', '-')}`,
  };
}

/** A holder of a company's shares, as last filed. */
interface Holding {
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

/**
 * The largest holders first; none for a symbol that is not listed. For the last quarter with due
 * filings.
 */
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

/** 45 days after the end of the newest quarter, if they are over; otherwise of the one before. */
function filingDay(today: DayNumber): DayNumber {
  const year = Number(dayText(today).slice(0, 4));
  const ends = [year - 1, year].flatMap((it) => [1, 4, 7, 10].map((month) => dayOf(it, month, 1) - 1));
  return Math.max(...ends.map((end) => end + 45).filter((due) => due <= today));
}

/** A theme's stocks: two to six traded here, by the seed. */
export function membersOf(seed: number, theme: Theme): string[] {
  const id = numberOf(theme);
  const count = 2 + Math.floor(noise(seed, id) * 5);
  const rank = (symbol: string) => noise(seed, id, numberOf(symbol));
  return stocks
    .map(({ symbol }) => symbol)
    .sort((a, b) => rank(a) - rank(b))
    .slice(0, count);
}
