import { compareDecimals, type Decimal, parseSpelledDecimal, plainText, subtractDecimals } from '../domain/decimal.ts';
import { formatInstant, isInstant, respelledInstant } from '../domain/instant.ts';
import { isTerminal, type Leg, type OrderStatus, orderWord, statusWord } from '../domain/order.ts';
import { idWords, isOddId, platformId } from '../domain/platform-id.ts';
import { storableText } from './parse-json.ts';

/** An object of JSON. */
export type Fields = Readonly<Record<string, unknown>>;

export interface Fault {
  /** Short and stable: a metric label. */
  readonly reason: string;
  readonly detail: string;
}

/**
 * A megabyte's beginning is enough for a reject text's readers; otherwise every update would carry
 * the whole.
 */
const maxTextLength = 4096;
const maxExtraLength = 16_384;
const maxExtraDepth = 16;
const lastMs = Date.UTC(9999, 11, 31);
const wholeNumber = /^\d{1,18}$/;

/**
 * Reads one order row's fields, and remembers the first wrong one. Reading continues after a fault,
 * so a decoder is a plain field list; its result must then be thrown away. The decoders built on
 * this check and build a whole observation in 1.8 µs (decision 064). zod's loose object takes 0.6
 * µs for the shape alone, but decimals, instants, absence and renaming would still have to follow
 * it, with one more copy for each row; a property test holds the decoders to the zod shapes
 * instead.
 *
 * Null and the empty string count as absent in optional fields, and as missing in required ones.
 * Blanks around a text are no part of it. A number stands for its text. An unreadable optional
 * field is absent too, if nothing depends on it; it is carried in `extra` as it came, since only
 * what is needed may decide about a row.
 */
export class RowReader {
  fault: Fault | undefined;
  /** An id was read that needs a further look. */
  hasOddId = false;
  private unread: string[] | undefined;
  private readonly row: Fields;

  constructor(row: Fields) {
    this.row = row;
  }

  /** An identifier (`platformId`). It becomes part of a key, so nothing in it is repaired. */
  id(field: string): string {
    const found = this.row[field];
    const value = typeof found === 'number' ? String(found) : found;
    if (typeof value === 'string') {
      if (!isOddId(value)) return value;
      this.hasOddId = true;
      if (platformId.test(value)) return value;
    }
    return this.fail(field, isAbsent(value) ? 'missing_field' : 'bad_id', `an id of ${idWords}`);
  }

  /** A field as it came. */
  found(field: string): unknown {
    return this.row[field];
  }

  optionalId(field: string): string | undefined {
    return isAbsent(this.row[field]) ? undefined : this.id(field);
  }

  text(field: string): string {
    const value = textOf(this.row[field]);
    if (typeof value === 'string' && value !== '') return cut(value);
    return this.fail(field, isAbsent(value) ? 'missing_field' : 'bad_text', 'a string');
  }

  optionalText(field: string): string | undefined {
    return isAbsent(this.row[field]) ? undefined : this.text(field);
  }

  /** Of a field nothing depends on. */
  carriedText(field: string): string | undefined {
    const value = textOf(this.row[field]);
    if (isAbsent(value)) return undefined;
    return typeof value === 'string' ? cut(value) : this.leave(field);
  }

  /**
   * The word of a field that says how an order works, not what became of it: `unknown` if it is
   * left out.
   */
  word(field: string): string {
    return orderWord(this.carriedText(field) ?? 'unknown');
  }

  decimal(field: string): Decimal {
    const value = this.row[field];
    return decimalOf(value) ?? this.fail(field, isAbsent(value) ? 'missing_field' : 'bad_decimal', 'a decimal string');
  }

  optionalDecimal(field: string): Decimal | undefined {
    return isAbsent(this.row[field]) ? undefined : this.decimal(field);
  }

  /** Of a field nothing depends on. */
  carriedDecimal(field: string): Decimal | undefined {
    const value = this.row[field];
    if (isAbsent(value)) return undefined;
    return decimalOf(value) ?? this.leave(field);
  }

  /** A decimal that is not negative. */
  quantity(field: string): Decimal {
    const quantity = this.decimal(field);
    return quantity.startsWith('-') ? this.fail(field, 'bad_decimal', 'a quantity of zero or more') : quantity;
  }

  optionalQuantity(field: string): Decimal | undefined {
    return isAbsent(this.row[field]) ? undefined : this.quantity(field);
  }

  /**
   * A price that an order may have none of: some platforms write that as zero. Only a package of
   * legs may have the limit zero.
   */
  nonZero(field: string): Decimal | undefined {
    const price = this.optionalDecimal(field);
    return price === '0' ? undefined : price;
  }

  /**
   * The filled quantity. An order just begun, or rejected, may be shown without one; a working one
   * may have the rest instead, in `rest`. If it follows from neither, it is missing.
   */
  filled(field: string, rest: string, total: Decimal | undefined, status: OrderStatus): Decimal {
    const filled = this.optionalQuantity(field);
    if (filled !== undefined || this.fault !== undefined) return filled ?? '0';
    if (status === 'pending_new' || status === 'new' || status === 'rejected') return '0';
    const leaves = isTerminal(status) ? undefined : this.optionalQuantity(rest);
    if (leaves === undefined || total === undefined || this.fault !== undefined || compareDecimals(leaves, total) > 0)
      return this.quantity(field);
    return subtractDecimals(total, leaves);
  }

  /**
   * The working quantity: if left out, the rest, unless the order has ended. Undefined: it works on
   * an amount.
   */
  leaves(field: string, total: Decimal | undefined, filled: Decimal, status: OrderStatus): Decimal | undefined {
    const leaves = this.optionalQuantity(field);
    if (leaves !== undefined || this.fault !== undefined) return leaves ?? '0';
    if (isTerminal(status)) return '0';
    if (total === undefined) return undefined;
    return compareDecimals(filled, total) > 0 ? '0' : subtractDecimals(total, filled);
  }

  /**
   * A status and its quantities: `new` is partially filled once a part is. `known`: the venue's
   * words; any other is `unknown`.
   */
  standing(
    fields: { readonly status: string; readonly filled: string; readonly leaves: string },
    known: ReadonlyMap<string, OrderStatus>,
    total: Decimal | undefined,
  ) {
    const statusRaw = statusWord(this.text(fields.status));
    const told = known.get(statusRaw) ?? 'unknown';
    const cumQty = this.filled(fields.filled, fields.leaves, total, told);
    const status: OrderStatus = told === 'new' && cumQty !== '0' ? 'partially_filled' : told;
    return { statusRaw, status, cumQty, leavesQty: this.leaves(fields.leaves, total, cumQty, status) };
  }

  instant(field: string): string {
    const value = this.row[field];
    const instant = instantOf(value);
    if (instant !== undefined) return instant;
    return this.fail(field, isAbsent(value) ? 'missing_field' : 'bad_instant', 'an ISO 8601 date-time');
  }

  /** An instant as a count since the epoch, in units of so many milliseconds. */
  epoch(field: string, unitMs: number): string {
    const value = this.row[field];
    const text = textOf(value);
    const ms = typeof text === 'string' && wholeNumber.test(text) ? Math.floor(Number(text) * unitMs) : Number.NaN;
    if (ms <= lastMs) return formatInstant(ms);
    return this.fail(field, isAbsent(value) ? 'missing_field' : 'bad_instant', 'a count since the epoch');
  }

  /** Of a field nothing depends on. */
  carriedInstant(field: string): string | undefined {
    const value = this.row[field];
    if (isAbsent(value)) return undefined;
    return instantOf(value) ?? this.leave(field);
  }

  /** An optional list of objects, at most `max`. */
  list(field: string, max: number): Fields[] {
    const value = this.row[field];
    if (isAbsent(value)) return [];
    if (Array.isArray(value) && value.length <= max && value.every(isObject)) return value;
    this.fail(field, 'bad_list', `at most ${max} objects`);
    return [];
  }

  /**
   * The fields of the row that are not in `known` or were left unread, or undefined. Ask last. Cut
   * when they are large: they are carried for people, and may not make a record too large.
   */
  extra(known: ReadonlySet<string>): Fields | undefined {
    let entries: [string, unknown][] | undefined;
    for (const field in this.row) {
      if (known.has(field) && this.unread?.includes(field) !== true) continue;
      entries ??= [];
      entries.push([storableText(field), this.row[field]]);
    }
    if (entries === undefined) return undefined;
    if (entries.some(([, value]) => depthExceeds(value, maxExtraDepth))) {
      this.fail('extra', 'too_deep', `at most ${maxExtraDepth} levels`);
      return undefined;
    }
    // fromEntries defines properties: an assignment to `__proto__` would change the object instead.
    const extra: Record<string, unknown> = Object.fromEntries(entries);
    return JSON.stringify(extra).length > maxExtraLength
      ? { cut: entries.map(([field]) => cut(field)).slice(0, 64) }
      : extra;
  }

  private leave(field: string): undefined {
    this.unread ??= [];
    this.unread.push(field);
  }

  /**
   * Records the fault unless there is one already. Returns a placeholder, so the decoder can go on.
   */
  fail(field: string, reason: string, expected: string): string {
    this.fault ??= { reason, detail: `${field}: expected ${expected}, found ${describeValue(this.row[field])}` };
    return '';
  }
}

/** A table of a venue's words. */
export function wordTable<T extends string>(words: Readonly<Record<string, T>>): ReadonlyMap<string, T> {
  return new Map(Object.entries(words));
}

/** The account in this field of a row, if it is not the account whose stream or list brought it. */
export function otherAccount(row: Fields, field: string | undefined, accountId: string): string | undefined {
  const found = field === undefined ? undefined : row[field];
  const named = typeof found === 'number' ? String(found) : found;
  return typeof named === 'string' && named !== '' && named !== accountId ? named : undefined;
}

/** Venues take four. */
const maxLegs = 16;

/** A row's `legs`. A fault of a leg is a fault of the row. */
export function readLegs(row: RowReader, legOf: (leg: RowReader) => Leg): Leg[] {
  return row.list('legs', maxLegs).map((item) => {
    const reader = new RowReader(item);
    const leg = legOf(reader);
    if (reader.fault !== undefined) row.fail('legs', reader.fault.reason, `legs with ${reader.fault.detail}`);
    return leg;
  });
}

/**
 * A value as it may stand in a message: short for any value, and never walked into (a hostile depth
 * would overflow the stack).
 */
export function describeValue(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  const text =
    typeof value === 'string' ? JSON.stringify(value) : typeof value === 'object' ? 'an object' : String(value);
  return text.length > 80 ? `${text.slice(0, 80).toWellFormed()}…` : text;
}

export function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function decimalOf(value: unknown): Decimal | undefined {
  return parseSpelledDecimal(typeof value === 'number' ? plainText(value) : value);
}

function instantOf(value: unknown): string | undefined {
  return isInstant(value) ? value : respelledInstant(value);
}

/** A number as its text, and a text without blanks around it; any other value as it is. */
function textOf(value: unknown): unknown {
  return typeof value === 'number' ? String(value) : typeof value === 'string' ? value.trim() : value;
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === 'string' && value.trim() === '');
}

function cut(text: string): string {
  return text.length > maxTextLength ? storableText(text.slice(0, maxTextLength)) : text;
}

function depthExceeds(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  for (const child of Object.values(value)) if (depthExceeds(child, levels - 1)) return true;
  return false;
}
