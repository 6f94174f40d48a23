import { z } from 'zod';
import { compareDecimals, parseDecimal } from '../domain/decimal.ts';
import { canonicalInstant } from '../domain/instant.ts';
import { idWords, platformId } from '../domain/platform-id.ts';
import { canonicalSymbol } from '../domain/symbol.ts';

/** A body's fault. `path` names the field (`legs[1].side`), empty for the body itself. */
interface BodyFault {
  readonly path: string;
  readonly message: string;
}

export type BodyResult<T> =
  | ({ readonly ok: true } & T)
  | { readonly ok: false; readonly faults: readonly [BodyFault, ...BodyFault[]] };

/** More would not help a reader, and a body may have thousands. */
export const mostFaults = 20;

/**
 * Parses `body` by its shape; all faults at once, one a field, in the shape's order. A fault never
 * repeats a value from the body.
 */
export function parseBody<S extends z.ZodType, T extends object>(
  shape: S,
  body: unknown,
  read: (value: z.infer<S>) => T,
): BodyResult<T> {
  // An own `__proto__` (JSON.parse makes one) passes zod's check for unknown fields.
  if (typeof body === 'object' && body !== null && Object.hasOwn(body, '__proto__')) {
    return { ok: false, faults: [{ path: '__proto__', message: 'is not a field of this body' }] };
  }
  const parsed = shape.safeParse(body, ownWords);
  if (parsed.success) return { ok: true, ...read(parsed.data) };
  const byPath = new Map<string, BodyFault>();
  // A field's first fault is the plainest: "must be a decimal string" before "must be greater than
  // zero".
  for (const found of parsed.error.issues.flatMap((issue) => faultsOf(issue, body)))
    if (!byPath.has(found.path)) byPath.set(found.path, found);
  const [first = { path: '', message: 'is not what this route takes' }, ...others] = [...byPath.values()].slice(
    0,
    mostFaults,
  );
  return { ok: false, faults: [first, ...others] };
}

const kinds: Readonly<Record<string, string>> = {
  array: 'a list',
  boolean: 'true or false',
  int: 'a whole number',
  number: 'a number',
  object: 'an object',
  string: 'a text',
};

/** For a parse of what a caller gave: the library's sentences are those of its own programmers. */
export const ownWords = {
  error: (issue: z.core.$ZodRawIssue): string => {
    if (issue.code === 'invalid_value') return `must be ${inWords(issue.values.map(String))}`;
    if (issue.code === 'invalid_type') return `must be ${kinds[issue.expected] ?? issue.expected}`;
    if (issue.code !== 'too_small' && issue.code !== 'too_big') return 'is not what this field takes';
    const [bound, least] =
      issue.code === 'too_small' ? [issue.minimum, 'at least'] : ([issue.maximum, 'at most'] as const);
    const entries = issue.origin === 'array' ? ' entries' : issue.origin === 'string' ? ' characters' : '';
    return `must ${entries === '' ? 'be' : 'have'} ${least} ${bound}${entries}`;
  },
};

/** `a, b or c` */
function inWords(words: readonly string[]): string {
  return [words.slice(0, -1).join(', '), ...words.slice(-1)].filter((part) => part !== '').join(' or ');
}

/**
 * The fault in the part of `given` that the issue is about. A missing part is said to be missing:
 * no REST caller has an `undefined`.
 */
export function wordsOf(issue: z.core.$ZodIssue, given: unknown): string {
  if (issue.code !== 'invalid_type' && issue.code !== 'invalid_value') return issue.message;
  let part: unknown = given;
  for (const key of issue.path) part = typeof part === 'object' && part !== null ? Reflect.get(part, key) : undefined;
  return part === undefined && issue.path.length > 0 ? 'is required' : issue.message;
}

function faultsOf(issue: z.core.$ZodIssue, body: unknown): BodyFault[] {
  const path = pathText(issue.path);
  if (issue.code !== 'unrecognized_keys') return [{ path, message: wordsOf(issue, body) }];
  return issue.keys.map((key) => ({
    path: path === '' ? nameToShow(key) : `${path}.${nameToShow(key)}`,
    message: 'is not a field of this body',
  }));
}

function pathText(path: readonly PropertyKey[]): string {
  let text = '';
  for (const part of path) text += typeof part === 'number' ? `[${part}]` : `${text === '' ? '' : '.'}${String(part)}`;
  return text;
}

/** An unknown name is the caller's text: cut, and safe to print. */
export function nameToShow(key: string): string {
  return JSON.stringify(key.toWellFormed().slice(0, 50)).slice(1, -1);
}

// Fields in callers' bodies. The messages are for the people who wrote the caller: each names a
// value that would have passed.

/** `parseDecimal`'s grammar with the digits a caller may send; the parser refuses `-0` besides. */
const decimalPattern = /^-?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,12})?$/;
const decimalWords =
  'must be a decimal string like "12.5": at most 18 + 12 digits, no exponent, no plus sign, no leading zero';

const isDecimal = (text: string): boolean => parseDecimal(text) !== undefined;

/** By the parsed value: `compareDecimals` knows canonical text only. */
function isBetween(text: string, low: string, high?: string): boolean {
  const value = parseDecimal(text);
  if (value === undefined) return false;
  return compareDecimals(value, low) > 0 && (high === undefined || compareDecimals(value, high) < 0);
}

/**
 * Exact decimal as text (specification, "General conventions"). A JSON number is refused: it has
 * lost digits before we see it.
 */
export const decimalText = z.string(decimalWords).regex(decimalPattern, decimalWords).refine(isDecimal, decimalWords);

/** Quantities and prices: "greater than zero" (specification, "Limits"). */
export const positiveDecimal = decimalText.refine((text) => isBetween(text, '0'), 'must be greater than zero');

/** A prediction contract's price: in (0, 1) (docs/platform-assumptions.md, "Prediction orders"). */
export const probability = decimalText.refine((text) => isBetween(text, '0', '1'), 'must lie between 0 and 1');

/** A real instant: `2026-02-30` is not one, nor is a year with six digits. */
export const instantText = z
  .string('must be an ISO 8601 date-time')
  .refine(
    (text) => canonicalInstant(text) !== undefined,
    'must be an ISO 8601 date-time with Z or an offset, and a day that the calendar has',
  )
  .meta({ format: 'date-time' });

/**
 * An order's or an account's id. Whatever id the platform shows has to be a name here too, or the
 * order could not be cancelled. Nothing is sent for an account that is not followed.
 */
export const platformIdText = z.string().regex(platformId, `must be ${idWords}`);

/**
 * The account of a new order, by the length of the specification. Nothing has to be placed on an
 * account with a blank or with a letter that only looks Latin.
 */
export const placedAccountText = z.string().regex(/^[!-~]{1,50}$/, 'must be 1 to 50 visible ASCII characters');

/**
 * A principal has such a name, whichever way it signs in. Another text could be no principal's: a
 * limit for it would limit nothing, and a cancel-all of its orders would find none.
 */
export const principalText = z.string().regex(/^[!-~]{1,300}$/, 'must be 1 to 300 visible ASCII characters');

/** Or an option with its root padded by blanks. */
const symbolPattern =
  /^ *(?:[A-Za-z0-9^$][A-Za-z0-9._:/^$+=-]*|(?:[Oo]:)?[A-Za-z0-9.]{1,6} +[0-9]{6}[CPcp][0-9]{8}) *$/;

/**
 * In the platform's form, not the caller's: the text that is limited, sent and journaled has to
 * equal the one the platform shows on the order. The length is counted in this form.
 */
export const symbolText = (longest: number) =>
  z
    .string()
    .regex(symbolPattern, 'must be a symbol: letters, digits and . _ : / ^ $ + = -')
    .overwrite(canonicalSymbol)
    .max(longest, `must have at most ${longest} characters`);

/** A symbol a reader looks for, perhaps one that no order of ours could have. */
export const searchedSymbol = z
  .string()
  .regex(/^(?=.*[!-~])[ -~]{1,64}$/, 'must be 1 to 64 visible ASCII characters')
  .overwrite(canonicalSymbol);

/**
 * Text for people or for the caller's own use. It is stored, logged and sent on, so it has to
 * survive Postgres (no NUL), UTF-8 (no lone surrogate) and one log line (no control characters).
 * Lengths count characters as JSON Schema does, not UTF-16 units.
 */
export function plainTextField(shortest: number, longest: number) {
  const length = shortest === 0 ? `at most ${longest}` : `${shortest} to ${longest}`;
  return z
    .string()
    .refine(isPlain, 'must be well-formed text without control characters')
    .refine((text) => {
      const characters = [...text].length;
      return characters >= shortest && characters <= longest;
    }, `must have ${length} characters`)
    .meta(shortest === 0 ? { maxLength: longest } : { minLength: shortest, maxLength: longest });
}

function isPlain(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to find
  return text.isWellFormed() && !/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/.test(text);
}
