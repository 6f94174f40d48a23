import { isDeepStrictEqual } from 'node:util';
import type { Stream } from '../../domain/order.ts';
import { jsonOrUndefined } from '../../runtime/json-or-undefined.ts';
import type { DecodedOrder } from '../order-decoder.ts';
import { parseJson } from '../parse-json.ts';
import { describeValue, otherAccount, RowReader } from '../row-reader.ts';
import type { Frame } from '../stream-protocol.ts';
import { streamOf, type Venue } from '../venue.ts';
import { notCanonical } from './canonical.ts';
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
  const fields = row as Readonly<Record<string, unknown>>;
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
