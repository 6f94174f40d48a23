import { isDeepStrictEqual } from 'node:util';
import { parseDecimal } from '../../domain/decimal.ts';
import { isInstant } from '../../domain/instant.ts';
import {
  type FieldRule,
  type OrderView,
  orderStatuses,
  orderTable,
  orderWord,
  parseVersion,
  type Stream,
} from '../../domain/order.ts';
import { isPlatformId } from '../../domain/platform-id.ts';
import { canonicalSymbol } from '../../domain/symbol.ts';
import { jsonOrUndefined } from '../../runtime/json-or-undefined.ts';
import { parseJson, storableText } from '../parse-json.ts';
import { describeValue, type Fields, otherAccount, RowReader } from '../row-reader.ts';
import { type DecodedOrder, type Frame, streamOf, type Venue } from '../venue.ts';
import type { Check } from './fixtures.ts';

/** `broken`: the venue breaks the port, whatever the text is. */
export type Reading =
  | { readonly kind: 'order'; readonly decoded: DecodedOrder; readonly frame?: Frame }
  | { readonly kind: 'control'; readonly frame: Frame }
  | { readonly kind: 'unreadable'; readonly reason: string; readonly detail: string; readonly frame?: Frame }
  | { readonly kind: 'broken'; readonly why: string; readonly frame?: Frame };

interface Origin {
  readonly stream: Stream;
  readonly accountId: string;
  readonly isEvent: boolean;
}

/**
 * A frame through the venue's protocol, and an event's row through its decoder. `accountId`: the
 * session's. Never throws.
 */
export function readingOfFrame(venue: Venue, stream: Stream, accountId: string, text: string): Reading {
  let frame: Frame;
  try {
    frame = streamOf(venue, stream).protocol.read(text);
  } catch (error) {
    return { kind: 'broken', why: `the frame throws: ${messageOf(error)}` };
  }
  if (frame.kind === 'event') {
    const origin = { stream: frame.stream, accountId: frame.accountId ?? accountId, isEvent: true };
    return { ...readingOfRow(venue, frame.row, origin), frame };
  }
  if (frame.kind !== 'unreadable') return { kind: 'control', frame };
  if (frame.reason === '') return { kind: 'broken', why: 'the frame is unreadable without a reason' };
  return { ...frame, frame };
}

export function readingOfRowText(venue: Venue, text: string, origin: Origin): Reading {
  return readingOfRow(venue, jsonOrUndefined(text, parseJson), origin);
}

/** A row through the venue's decoder, twice. Never throws. */
export function readingOfRow(venue: Venue, row: unknown, origin: Origin): Reading {
  try {
    const [first, second] = [decodeOnce(venue, row, origin), decodeOnce(venue, row, origin)];
    if (!isDeepStrictEqual(first, second)) return { kind: 'broken', why: 'the same row is read in two ways' };
    const why = first.kind === 'order' ? notCanonical(first.decoded, origin) : undefined;
    return why === undefined ? first : { kind: 'broken', why };
  } catch (error) {
    return { kind: 'broken', why: `the row throws: ${messageOf(error)}` };
  }
}

function decodeOnce(venue: Venue, row: unknown, { stream, accountId, isEvent }: Origin): Reading {
  if (typeof row !== 'object' || row === null || Array.isArray(row))
    return { kind: 'unreadable', reason: 'not_an_object', detail: 'a row is an object' };
  const fields = row as Fields;
  const { orders } = streamOf(venue, stream);
  const other = otherAccount(fields, orders.names.accountId, accountId);
  if (other !== undefined) return { kind: 'unreadable', reason: 'foreign', detail: `of the account ${other}` };
  const reader = new RowReader(fields);
  const decoded = orders.decode(reader, { accountId, isEvent });
  if (reader.fault !== undefined) return { kind: 'unreadable', ...reader.fault };
  return { kind: 'order', decoded };
}

/** What a text was read as, in words. */
export function readAs(reading: Reading): string {
  if (reading.kind === 'broken') return reading.why;
  if (reading.kind === 'unreadable')
    return `it is unreadable (${[reading.reason, reading.detail].filter((text) => text !== '').join(': ')})`;
  return reading.kind === 'control' ? `it is the message ${reading.frame.kind}` : 'it is read as an order';
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A field of an order, in a line. */
export function shownValue(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value).slice(0, 200) : describeValue(value);
}

/** `of`: the stream or the write. `missing` undefined: it held. */
export function check(part: Check['part'], of: string, name: string, missing: string | undefined): Check {
  return { part, name: `${of}, ${name}`, ...(missing !== undefined && { missing }) };
}

/** How a decoded order breaks the port's one form; undefined if it keeps it. */
function notCanonical(
  { view, sourceVersion }: DecodedOrder,
  origin: Pick<Origin, 'stream' | 'accountId'>,
): string | undefined {
  for (const [name, rule] of Object.entries(orderTable) as [keyof OrderView, FieldRule][]) {
    if (rule.own === true) continue;
    const value: unknown = view[name];
    if (value === undefined && rule.required === true) return `${name} is left out`;
    const expected = value === undefined ? undefined : otherForm(rule.kind, value);
    if (expected !== undefined) return `${name} is ${describeValue(value)}, and not ${expected}`;
  }
  if (sourceVersion !== undefined && parseVersion(sourceVersion.toString()) === undefined)
    return `the version ${sourceVersion} is no int64 from 0 on`;
  // It is written out with the order: anything but plain JSON throws here.
  JSON.stringify(view.extra);
  for (const [name, value, isRight, expected] of partsOf(view, origin))
    if (!isRight) return `${name} is ${describeValue(value)}, and not ${expected}`;
  return undefined;
}

/** The form a value lacks. */
function otherForm(kind: FieldRule['kind'], value: unknown): string | undefined {
  if (kind === 'decimal') return parseDecimal(value) === value ? undefined : 'a canonical decimal';
  if (kind === 'instant') return isInstant(value) ? undefined : 'an instant of ISO 8601';
  if (kind !== 'text') return undefined;
  const isText = typeof value === 'string' && value !== '' && value.trim() === value;
  return isText && storableText(value) === value ? undefined : 'a text that can be stored';
}

type Part = readonly [name: string, value: unknown, isRight: boolean, expected: string];

function* partsOf(view: OrderView, { stream, accountId }: Pick<Origin, 'stream' | 'accountId'>): Iterable<Part> {
  yield ['stream', view.stream, view.stream === stream, `the stream ${stream}`];
  yield [
    'accountId',
    view.accountId,
    view.accountId === accountId,
    `${accountId}: names.accountId has to say its field`,
  ];
  yield ['orderId', view.orderId, isPlatformId(view.orderId), 'an id'];
  yield ['status', view.status, orderStatuses.includes(view.status), 'a status of ours'];
  for (const name of ['side', 'orderType', 'timeInForce', 'certainty', 'pendingAction'] as const)
    yield [name, view[name], orderWord(view[name]) === view[name], 'a word in small letters'];
  const { instrument, working } = view;
  yield symbolPart('instrument.symbol', instrument.symbol);
  for (const { symbol, ratioQty } of instrument.legs ?? []) {
    yield symbolPart('the symbol of a leg', symbol);
    yield decimalPart('ratioQty of a leg', ratioQty);
  }
  yield ['quantity', view.quantity, (view.quantity ?? view.notional) !== undefined, 'a quantity or an amount of money'];
  if (working.quantity !== undefined) yield decimalPart('working.quantity', working.quantity);
  if (working.price !== undefined) yield decimalPart('working.price', working.price);
}

function symbolPart(name: string, symbol: string): Part {
  return [name, symbol, symbol !== '' && canonicalSymbol(symbol) === symbol, 'a canonical symbol'];
}

function decimalPart(name: string, value: string): Part {
  return [name, value, parseDecimal(value) === value, 'a canonical decimal'];
}
