/**
 * The days, weekends aside, when New York's exchanges are closed: their published rules, as numbers
 * of days since 1970-01-01.
 */
function isHoliday(day: number): boolean {
  const year = new Date(day * 86_400_000).getUTCFullYear();
  let holidays = byYear.get(year);
  if (holidays === undefined) {
    holidays = holidaysOf(year);
    byYear.set(year, holidays);
  }
  return holidays.has(day);
}

const byYear = new Map<number, ReadonlySet<number>>();
const sunday = 0;
const monday = 1;
const thursday = 4;
const saturday = 6;

function holidaysOf(year: number): ReadonlySet<number> {
  const newYear = dayOf(year, 1, 1);
  return new Set([
    // On a Saturday it is not kept: the Friday before belongs to the old year's books.
    weekdayOf(newYear) === sunday ? newYear + 1 : newYear,
    nth(year, 1, monday, 3),
    nth(year, 2, monday, 3),
    easterSunday(year) - 2,
    // The last Monday of May.
    nth(year, 6, monday, 1) - 7,
    observed(dayOf(year, 6, 19)),
    observed(dayOf(year, 7, 4)),
    nth(year, 9, monday, 1),
    nth(year, 11, thursday, 4),
    observed(dayOf(year, 12, 25)),
  ]);
}

/** A Saturday's holiday is kept on Friday, a Sunday's on Monday. */
function observed(day: number): number {
  if (weekdayOf(day) === saturday) return day - 1;
  return weekdayOf(day) === sunday ? day + 1 : day;
}

function nth(year: number, month: number, wanted: number, count: number): number {
  const first = dayOf(year, month, 1);
  return first + ((wanted - weekdayOf(first) + 7) % 7) + 7 * (count - 1);
}

/** The anonymous Gregorian algorithm. */
function easterSunday(year: number): number {
  const a = year % 19;
  const b = Math.floor(year / 100);
  const c = year % 100;
  const d = (19 * a + b - Math.floor(b / 4) - Math.floor((b - Math.floor((b + 8) / 25) + 1) / 3) + 15) % 30;
  const e = (32 + 2 * (b % 4) + 2 * Math.floor(c / 4) - d - (c % 4)) % 7;
  const f = d + e - 7 * Math.floor((a + 11 * d + 22 * e) / 451) + 114;
  return dayOf(year, Math.floor(f / 31), (f % 31) + 1);
}

/** A calendar date, counted in days since 1970-01-01. */
export type DayNumber = number;

export const dayMs = 86_400_000;
const hourMs = 3_600_000;
/** The regular session, in minutes of the New York day. Early closes are not modelled. */
export const session = { opensAt: 9 * 60 + 30, closesAt: 16 * 60 } as const;

/** The date in New York at an instant (milliseconds since the epoch). */
export function newYorkDay(atMs: number): DayNumber {
  return Math.floor((atMs + offsetMs(atMs)) / dayMs);
}

/**
 * The instant when New York's clocks show so many minutes after midnight on a date, in milliseconds
 * since the epoch.
 */
export function newYorkInstant(day: DayNumber, minutes: number): number {
  const local = day * dayMs + minutes * 60_000;
  // The second look is right when the first one fell on the other side of a clock change.
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

/** A YYYY-MM-DD text's day; undefined for a date that isn't one (30 February). */
export function parseDay(text: string): DayNumber | undefined {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return undefined;
  const ms = Date.parse(`${text}T00:00:00Z`);
  return Number.isNaN(ms) || dayText(ms / dayMs) !== text ? undefined : ms / dayMs;
}

export function dayOf(year: number, month: number, day: number): DayNumber {
  return Date.UTC(year, month - 1, day) / dayMs;
}

/**
 * How far New York's clocks are ahead of UTC (negative): an hour less from the second Sunday of
 * March to the first of November, at two o'clock. This is the law since 2007; data begin later.
 * `Intl` took 17 us for an answer, not 1, and each place asks often.
 */
function offsetMs(atMs: number): number {
  const year = new Date(atMs).getUTCFullYear();
  const summer = nth(year, 3, sunday, 2) * dayMs + 7 * hourMs;
  const winter = nth(year, 11, sunday, 1) * dayMs + 6 * hourMs;
  return (atMs >= summer && atMs < winter ? -4 : -5) * hourMs;
}
