import { Decimal } from 'decimal.js';

/**
 * A `"version":` with a number as its value. In valid JSON a quote inside a string always has a
 * backslash before it, so a match is certainly a key.
 */
const versionNumber = /(?<!\\)"version"\s*:\s*(-?\d[\d.eE+-]*)/g;
/**
 * A number token with 15 digits and a point, with 16 digits or more, or with an exponent: it may
 * not survive as a double. Matching inside a string only costs time.
 */
const riskyNumber = /[:[,\s]-?(?:[\d.]{16}|\d+(?:\.\d+)?[eE])/;
/**
 * A number that stands alone has nothing before it. A `^` in the search above would make it half as
 * fast, for every frame, and no frame begins so.
 */
const bareNumber = /^-?\d/;

/**
 * JSON whose int64 digits survive, and whose strings can be stored in Postgres.
 *
 * - For every key `version`, at any depth, the value is the number's text as it stood in the
 *   source: `9007199254740993`, but also `1.0` and `1e3`, which are not int64 (`parseVersion`
 *   refuses them). A plain `JSON.parse` makes …993 and …992 one number, and 1.0 a version.
 * - Any other number a double would change, as an integer beyond ±(2^53 − 1) or one with 17 digits,
 *   becomes its source text as a string.
 * - NUL and lone surrogates in strings and names become U+FFFD. They can only come from `\u`
 *   escapes: raw, the first is not JSON and the second not UTF-8.
 *
 * The version is put in quotes in the text before it is parsed: 1.1 µs more than `JSON.parse` on a
 * 0.9 kB frame. A reviver with `context.source` takes 8 µs more (decision 064). The reviver stays
 * for texts with `\u` escapes (a key may be written `\u0076ersion`) and for other long numbers.
 * Duplicate keys: the last wins, on both ways.
 *
 * @throws SyntaxError when the text is not JSON, RangeError when it is nested beyond the stack (on
 * the slow way only).
 */
export function parseJson(text: string): unknown {
  if (text.includes('\\u') || bareNumber.test(text)) return JSON.parse(text, reviveExactly as Reviver);
  const quoted = text.replace(versionNumber, '"version":"$1"');
  if (riskyNumber.test(quoted)) return JSON.parse(text, reviveExactly as Reviver);
  return JSON.parse(quoted);
}

/**
 * JSON as it came, for other programs' values: numbers are numbers under any key, strings keep
 * every character. Only a value a double would change becomes its source text as a string, as
 * above.
 *
 * @throws SyntaxError, RangeError as above.
 */
export function parsePlainJson(text: string): unknown {
  return JSON.parse(text, reviveNumbers as Reviver);
}

type Reviver = (this: unknown, key: string, value: unknown) => unknown;
interface Source {
  readonly source?: string;
}

/** ECMAScript "JSON.parse source text access": the third argument holds a primitive's source. */
function reviveExactly(key: string, value: unknown, context: Source): unknown {
  if (key === 'version' && typeof value === 'number') return context.source ?? String(value);
  if (typeof value === 'object') return withStorableNames(value);
  return typeof value === 'string' ? storableText(value) : reviveNumbers(key, value, context);
}

function withStorableNames(value: object | null): object | null {
  if (value === null || Array.isArray(value) || Object.keys(value).every((name) => storableText(name) === name))
    return value;
  // fromEntries defines properties: an assignment to `__proto__` would change the object instead.
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [storableText(name), inner]));
}

function reviveNumbers(_key: string, value: unknown, context: Source): unknown {
  if (typeof value !== 'number') return value;
  const { source = String(value) } = context;
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) return source;
  // Also if the double is whole: for 100.00000000000000000007 it is 100.
  return Number.isFinite(value) && isSame(value, source) ? value : source;
}

/** Whether a double shows the same as its source text. Up to 15 digits it always does. */
function isSame(value: number, source: string): boolean {
  return source.length <= 16 || String(value) === source || new Decimal(source).equals(value);
}

/** The text with NUL and lone surrogates replaced by U+FFFD: Postgres takes neither. */
export function storableText(text: string): string {
  const wellFormed = text.isWellFormed() ? text : text.toWellFormed();
  return wellFormed.includes('\0') ? wellFormed.replaceAll('\0', '\ufffd') : wellFormed;
}
