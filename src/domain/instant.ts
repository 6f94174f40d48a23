/**
 * Instants: the platform's ISO 8601 text, checked by one strict parser and compared as nanoseconds.
 * `Date` can't be used: `new Date('2026-02-30')` is 2 March, and it knows milliseconds only.
 */
const fractionDigits = 9;
const digitZero = 48;
const upperZ = 90;

/**
 * Nanoseconds since the epoch. The text must be `YYYY-MM-DDTHH:MM:SS[.fraction](Z|±HH:MM)` and name
 * a real instant: four year digits from 0001 (Postgres has no year 0), days the month has, no hour
 * 24, no leap second, upper-case T and Z, at most 9 fraction digits. Otherwise undefined.
 */
export function parseInstant(text: unknown): bigint | undefined {
  if (typeof text !== 'string') return undefined;
  const seconds = wholeSeconds(text);
  if (seconds === undefined) return undefined;
  const end = fractionEnd(text);
  if (end === undefined) return undefined;
  const offsetMinutes = zoneOffsetMinutes(text, end);
  if (offsetMinutes === undefined) return undefined;
  return BigInt(seconds - offsetMinutes * 60) * 1_000_000_000n + BigInt(fractionNanos(text, end));
}

/** Whether `parseInstant` would take it, without making the bigint: 42 ns instead of 68. */
export function isInstant(text: unknown): text is string {
  if (typeof text !== 'string' || wholeSeconds(text) === undefined) return false;
  const end = fractionEnd(text);
  return end !== undefined && zoneOffsetMinutes(text, end) !== undefined;
}

const spelled = /^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d)(?::(\d\d)(?:[.,](\d+))?)?(?: ?[Zz]|([+-]\d\d)(?::?(\d\d))?)$/;

/**
 * An instant in the spelling of `parseInstant`, from any other one that leaves no doubt: an offset
 * without its colon or its minutes, small letters, a blank in place of T, no seconds, more than
 * nine fraction digits (cut). Undefined: it is none, or has no zone.
 */
export function respelledInstant(text: unknown): string | undefined {
  const found = typeof text === 'string' ? spelled.exec(text) : null;
  if (found === null) return undefined;
  const [, day, minute, second = '00', fraction, hours, minutes = '00'] = found;
  const zone = hours === undefined ? 'Z' : `${hours}:${minutes}`;
  const digits = fraction === undefined ? '' : `.${fraction.slice(0, fractionDigits)}`;
  const respelled = `${day}T${minute}:${second}${digits}${zone}`;
  return isInstant(respelled) ? respelled : undefined;
}

/**
 * -1, 0 or 1 by time, for two texts that parse. Two in UTC are compared as text up to the second
 * and then by fraction, without parsing either (15 ns instead of 140): this runs for every
 * observation.
 */
export function compareInstants(a: string, b: string): -1 | 0 | 1 {
  if (a === b) return 0;
  if (a.charCodeAt(a.length - 1) === upperZ && b.charCodeAt(b.length - 1) === upperZ) {
    if (a.length === b.length) return a < b ? -1 : 1;
    const aSecond = a.slice(0, 19);
    const bSecond = b.slice(0, 19);
    if (aSecond !== bSecond) return aSecond < bSecond ? -1 : 1;
    return sign(fractionNanos(a, a.length - 1) - fractionNanos(b, b.length - 1));
  }
  const aNanos = parseInstant(a) ?? 0n;
  const bNanos = parseInstant(b) ?? 0n;
  if (aNanos === bNanos) return 0;
  return aNanos < bNanos ? -1 : 1;
}

/**
 * Whether two instants may be one, shown with more digits of the second by one source than by the
 * other, which cuts or rounds it. Never for two with as many digits.
 */
export function sameToCoarser(a: string, b: string): boolean {
  // Nearly always: asked for each update.
  if (a.length === b.length && a.charCodeAt(19) === b.charCodeAt(19) && a.endsWith('Z') && b.endsWith('Z'))
    return a === b;
  const [fewer = 0, more = 0] = [a, b].map((text) => (fractionEnd(text) ?? 19) - 20).sort((x, y) => x - y);
  if (fewer === more) return compareInstants(a, b) === 0;
  const apart = (parseInstant(a) ?? 0n) - (parseInstant(b) ?? 0n);
  const unit = 10n ** BigInt(fractionDigits - Math.max(0, fewer));
  return apart < unit && -apart < unit;
}

/**
 * An instant's one spelling: in UTC, with as many fraction digits as it needs, at most six. Finer
 * digits are cut: the platform and Postgres keep microseconds. Undefined: it does not parse, or
 * lies outside the years 1 to 9999 in UTC.
 */
export function canonicalInstant(text: unknown): string | undefined {
  const nanos = parseInstant(text);
  if (nanos === undefined) return undefined;
  const micros = (nanos - (((nanos % 1_000n) + 1_000n) % 1_000n)) / 1_000n;
  const fraction = ((micros % 1_000_000n) + 1_000_000n) % 1_000_000n;
  const second = new Date(Number((micros - fraction) / 1_000n)).toISOString();
  if (second.length !== 24 || second.startsWith('0000')) return undefined;
  const digits = String(fraction).padStart(6, '0').replace(/0+$/, '');
  return `${second.slice(0, 19)}${digits === '' ? '' : `.${digits}`}Z`;
}

/**
 * ISO 8601 in UTC with milliseconds, from milliseconds since the epoch. The last text is kept:
 * many updates come in one millisecond, and `toISOString` takes 0.9 µs.
 */
export function formatInstant(epochMs: number): string {
  if (epochMs !== lastMs) {
    lastText = new Date(epochMs).toISOString();
    lastMs = epochMs;
  }
  return lastText;
}

let lastMs = Number.NaN;
let lastText = '';

/** The same for a time we may not know; `JSON.stringify` leaves undefined out. */
export function formatIfKnown(epochMs: number | undefined): string | undefined {
  return epochMs === undefined ? undefined : formatInstant(epochMs);
}

function sign(difference: number): -1 | 0 | 1 {
  if (difference === 0) return 0;
  return difference < 0 ? -1 : 1;
}

/** The first 19 characters, read as UTC, in seconds since the epoch. */
function wholeSeconds(text: string): number | undefined {
  if (
    text.length < 20 ||
    text[4] !== '-' ||
    text[7] !== '-' ||
    text[10] !== 'T' ||
    text[13] !== ':' ||
    text[16] !== ':'
  ) {
    return undefined;
  }
  const year = twoDigits(text, 0) * 100 + twoDigits(text, 2);
  const month = twoDigits(text, 5);
  const day = twoDigits(text, 8);
  const hour = twoDigits(text, 11);
  const minute = twoDigits(text, 14);
  const second = twoDigits(text, 17);
  // NaN fails every comparison here.
  if (!(year >= 1 && month >= 1 && month <= 12 && day >= 1 && day <= daysInMonth(year, month))) return undefined;
  if (!(hour <= 23 && minute <= 59 && second <= 59)) return undefined;
  return daysSinceEpoch(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second;
}

/** The zone's start: after the second, or after one to nine fraction digits. */
function fractionEnd(text: string): number | undefined {
  if (text[19] !== '.') return 19;
  let end = 20;
  while (isDigit(text, end)) end += 1;
  return end > 20 && end <= 20 + fractionDigits ? end : undefined;
}

function fractionNanos(text: string, end: number): number {
  let nanos = 0;
  for (let i = 20; i < 20 + fractionDigits; i += 1) nanos = nanos * 10 + (i < end ? text.charCodeAt(i) - digitZero : 0);
  return nanos;
}

function zoneOffsetMinutes(text: string, at: number): number | undefined {
  if (text.charCodeAt(at) === upperZ) return text.length === at + 1 ? 0 : undefined;
  const direction = text[at] === '+' ? 1 : text[at] === '-' ? -1 : undefined;
  if (direction === undefined || text.length !== at + 6 || text[at + 3] !== ':') return undefined;
  const hours = twoDigits(text, at + 1);
  const minutes = twoDigits(text, at + 4);
  return hours <= 23 && minutes <= 59 ? direction * (hours * 60 + minutes) : undefined;
}

function isDigit(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= digitZero && code <= digitZero + 9;
}

function twoDigits(text: string, at: number): number {
  if (!isDigit(text, at) || !isDigit(text, at + 1)) return Number.NaN;
  return (text.charCodeAt(at) - digitZero) * 10 + text.charCodeAt(at + 1) - digitZero;
}

function daysInMonth(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

/**
 * Days from 1970-01-01 in the proleptic Gregorian calendar (Hinnant, "days_from_civil"): in years
 * from March on the leap day is the last.
 */
function daysSinceEpoch(year: number, month: number, day: number): number {
  const marchYear = month <= 2 ? year - 1 : year;
  const era = Math.floor(marchYear / 400);
  const yearOfEra = marchYear - era * 400;
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
}

/** Milliseconds since the epoch; 0 for a text that is no instant. */
export function msOf(text: string): number {
  return Number((parseInstant(text) ?? 0n) / 1_000_000n);
}
