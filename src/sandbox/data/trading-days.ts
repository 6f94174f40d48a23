import { isHoliday } from './exchange-holidays.ts';

/** A calendar date, counted in days since 1970-01-01. */
export type DayNumber = number;

export const dayMs = 86_400_000;
/** The regular session, in minutes of the New York day. Early closes are not modelled. */
export const session = { opensAt: 9 * 60 + 30, closesAt: 16 * 60 } as const;

const newYork = new Intl.DateTimeFormat('en-US', {
  timeZone: 'America/New_York',
  hourCycle: 'h23',
  year: 'numeric',
  month: 'numeric',
  day: 'numeric',
  hour: 'numeric',
  minute: 'numeric',
  second: 'numeric',
});

/** The date in New York at an instant (milliseconds since the epoch). */
export function newYorkDay(atMs: number): DayNumber {
  return Math.floor((atMs + offsetMs(atMs)) / dayMs);
}

/** The instant at which New York's clocks show so many minutes after midnight on a date, in milliseconds since the epoch. */
export function newYorkInstant(day: DayNumber, minutes: number): number {
  const local = day * dayMs + minutes * 60_000;
  // The second look is right when the first one fell on the other side of a change of the clocks.
  return local - offsetMs(local - offsetMs(local));
}

export function isTradingDay(day: DayNumber): boolean {
  const weekday = weekdayOf(day);
  return weekday !== 0 && weekday !== 6 && !isHoliday(day);
}

/** The last trading day before a date. */
export function tradingDayBefore(day: DayNumber): DayNumber {
  let before = day - 1;
  while (!isTradingDay(before)) before -= 1;
  return before;
}

/** 0 for Sunday. */
export function weekdayOf(day: DayNumber): number {
  return (((day + 4) % 7) + 7) % 7;
}

/** YYYY-MM-DD. */
export function dayText(day: DayNumber): string {
  return new Date(day * dayMs).toISOString().slice(0, 10);
}

/** The day of a YYYY-MM-DD text; undefined for a date that isn't one (30 February). */
export function parseDay(text: string): DayNumber | undefined {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return undefined;
  const ms = Date.parse(`${text}T00:00:00Z`);
  return Number.isNaN(ms) || dayText(ms / dayMs) !== text ? undefined : ms / dayMs;
}

export function dayOf(year: number, month: number, day: number): DayNumber {
  return Date.UTC(year, month - 1, day) / dayMs;
}

/** How far New York's clocks are ahead of UTC (negative). */
function offsetMs(atMs: number): number {
  const part: Record<string, number> = {};
  for (const { type, value } of newYork.formatToParts(atMs)) part[type] = Number(value);
  const { year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0 } = part;
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(atMs / 1000) * 1000;
}
