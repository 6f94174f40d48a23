/** Days on which New York's exchanges are closed, weekends aside: their published rules, as numbers of days since 1970-01-01. */
export function isHoliday(day: number): boolean {
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
  const newYear = date(year, 1, 1);
  return new Set([
    // On a Saturday it is not kept: the Friday before belongs to the old year's books.
    weekday(newYear) === sunday ? newYear + 1 : newYear,
    nth(year, 1, monday, 3),
    nth(year, 2, monday, 3),
    easterSunday(year) - 2,
    lastMondayOfMay(year),
    observed(date(year, 6, 19)),
    observed(date(year, 7, 4)),
    nth(year, 9, monday, 1),
    nth(year, 11, thursday, 4),
    observed(date(year, 12, 25)),
  ]);
}

function date(year: number, month: number, day: number): number {
  return Date.UTC(year, month - 1, day) / 86_400_000;
}

function weekday(day: number): number {
  return (day + 4) % 7;
}

/** A Saturday's holiday is kept on Friday, a Sunday's on Monday. */
function observed(day: number): number {
  if (weekday(day) === saturday) return day - 1;
  return weekday(day) === sunday ? day + 1 : day;
}

function nth(year: number, month: number, wanted: number, count: number): number {
  const first = date(year, month, 1);
  return first + ((wanted - weekday(first) + 7) % 7) + 7 * (count - 1);
}

function lastMondayOfMay(year: number): number {
  const last = date(year, 5, 31);
  return last - ((weekday(last) - monday + 7) % 7);
}

/** The anonymous Gregorian algorithm. */
function easterSunday(year: number): number {
  const a = year % 19;
  const b = Math.floor(year / 100);
  const c = year % 100;
  const d = (19 * a + b - Math.floor(b / 4) - Math.floor((b - Math.floor((b + 8) / 25) + 1) / 3) + 15) % 30;
  const e = (32 + 2 * (b % 4) + 2 * Math.floor(c / 4) - d - (c % 4)) % 7;
  const f = d + e - 7 * Math.floor((a + 11 * d + 22 * e) / 451) + 114;
  return date(year, Math.floor(f / 31), (f % 31) + 1);
}
