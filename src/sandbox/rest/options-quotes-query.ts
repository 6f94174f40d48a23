import { type OptionsQuotesQuery, optionsQuotesLimit, optionsQuotesQuery } from '../../platform/wire/options-quotes.ts';
import type { QuoteRange } from '../data/option-quotes.ts';
import { newYorkInstant, parseDay } from '../data/trading-days.ts';
import { readQuery } from './read-query.ts';

/** What options quotes were asked for. */
export interface QuotesQuery {
  readonly ticker: string;
  readonly range: QuoteRange;
  readonly order: 'asc' | 'desc';
  readonly limit: number;
}

const firstInstant = 0n;
const lastInstant = 2n ** 63n - 1n;

/** Reads the query of `GET /v1/options/quotes`, cursor and filters together, or says what is wrong with it. */
export function readQuotesQuery(query: unknown): QuotesQuery | { readonly fault: string } {
  const read = readQuery(optionsQuotesQuery, query);
  if ('fault' in read) return read;
  const { ticker, order = 'desc', limit = optionsQuotesLimit.default, next } = read.value;
  const range = rangeOf(read.value);
  if (next === undefined) return { ticker, range, order, limit };
  const last = readCursor(next, ticker, order);
  if (last === undefined) return { fault: 'next: not a cursor of this query' };
  return { ticker, range: order === 'asc' ? narrower(range, { after: last }) : narrower(range, { before: last }), order, limit };
}

/** Where the next page begins: behind the last quote of this one. Opaque to readers, bound to contract and order. */
export function writeCursor(last: bigint, ticker: string, order: 'asc' | 'desc'): string {
  return Buffer.from(`${order}:${last}:${ticker}`).toString('base64url');
}

function readCursor(text: string, ticker: string, order: 'asc' | 'desc'): bigint | undefined {
  const match = /^(?:asc|desc):(\d{1,19}):/.exec(Buffer.from(text, 'base64url').toString('latin1'));
  if (match === null) return undefined;
  const last = BigInt(match[1] ?? '0');
  return writeCursor(last, ticker, order) === text ? last : undefined;
}

/** All filters at once; they may contradict each other, and then nothing is between. */
function rangeOf(query: OptionsQuotesQuery): QuoteRange {
  let range: QuoteRange = { after: firstInstant - 1n, before: lastInstant };
  const limit = (text: string | undefined, edge: (first: bigint, last: bigint) => Partial<QuoteRange>) => {
    if (text !== undefined) range = narrower(range, edge(...instantsOf(text)));
  };
  limit(query.timestamp, (first, last) => ({ after: first - 1n, before: last + 1n }));
  limit(query['timestamp.gte'], (first) => ({ after: first - 1n }));
  limit(query['timestamp.gt'], (_first, last) => ({ after: last }));
  limit(query['timestamp.lte'], (_first, last) => ({ before: last + 1n }));
  limit(query['timestamp.lt'], (first) => ({ before: first }));
  return range;
}

function narrower(range: QuoteRange, by: Partial<QuoteRange>): QuoteRange {
  const { after = range.after, before = range.before } = by;
  return { after: after > range.after ? after : range.after, before: before < range.before ? before : range.before };
}

/** A nanosecond is itself; a date is the whole New York day (contract, "Data"). */
function instantsOf(text: string): [first: bigint, last: bigint] {
  const day = parseDay(text);
  if (day === undefined) return [BigInt(text), BigInt(text)];
  const instant = (date: number) => BigInt(newYorkInstant(date, 0)) * 1_000_000n;
  return [instant(day), instant(day + 1) - 1n];
}
