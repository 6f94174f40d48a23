import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import {
  apiKeyHeader,
  chartQuotesPath,
  chartQuotesQuery,
  type OptionsQuotesQuery,
  optionsQuotesLimit,
  optionsQuotesPath,
  optionsQuotesQuery,
  previousDayPath,
  previousDayQuery,
  symbolSearchLimit,
  symbolSearchPath,
  symbolSearchQuery,
} from '../../venue/platform/wire/market-data.ts';
import {
  fdaCalendarPath,
  investmentThemePath,
  investmentThemeQuery,
  ownershipPath,
  ownershipQuery,
} from '../../venue/platform/wire/research.ts';
import { chartItem, dollars } from '../data/chart-values.ts';
import { findSymbols } from '../data/find-symbols.ts';
import { optionContract } from '../data/option-contracts.ts';
import { type OptionQuote, type QuoteRange, quotesOf } from '../data/option-quotes.ts';
import { committeeMeetings, holdingsOf, membersOf } from '../data/research.ts';
import { newYorkInstant, parseDay, session } from '../data/trading-days.ts';
import { apiKey } from '../describe-sandbox.ts';
import { jsonText } from '../exchange/wire-text.ts';
import type { SandboxParts } from '../sandbox-parts.ts';
import { sendFlat, sendNested } from './error-bodies.ts';
import { readQuery } from './read-request.ts';
import { requireScope } from './require-scope.ts';

/** Symbol search (nested errors) and chart quotes (flat ones); specification, "Market data". */
export function symbolRoutes(app: FastifyInstance, parts: SandboxParts): void {
  app.get(symbolSearchPath, async (request, reply) => {
    const principal = await requireScope(parts.tokens, request, reply, 'market:information', 'nested');
    if (principal === undefined) return reply;
    if (!isApiKey(request.headers[apiKeyHeader.toLowerCase()]))
      return sendNested(reply, 401, 'authentication', 'INVALID_API_KEY', `${apiKeyHeader} is missing or wrong`);
    const query = readQuery(symbolSearchQuery, request.query);
    if ('fault' in query) return sendNested(reply, 400, 'invalid_request', 'INVALID_PARAMETER', query.fault);
    return findSymbols(parts.data.prices, query.value.query, query.value.limit ?? symbolSearchLimit.default);
  });
  app.get(chartQuotesPath, async (request, reply) => {
    const principal = await requireScope(parts.tokens, request, reply, 'market:information', 'flat');
    if (principal === undefined) return reply;
    const query = readQuery(chartQuotesQuery, request.query);
    if ('fault' in query) return sendFlat(reply, 400, query.fault, ['INVALID_PARAMETER']);
    const symbols = query.value.symbols.split(',').map((symbol) => symbol.trim());
    const found = symbols.map((symbol) => chartItem(parts.data.prices, symbol)).filter((item) => item !== undefined);
    if (found.length === 0) return sendFlat(reply, 404, 'None of these symbols has a quote', ['NO_DATA']);
    return { s: 'ok', d: found };
  });
}

function isApiKey(given: string | string[] | undefined): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return typeof given === 'string' && timingSafeEqual(digest(given), digest(apiKey));
}

/**
 * Options quotes (nested errors) and the previous day's bar (flat ones); specification, "Market
 * data".
 */
export function quotesRoutes(app: FastifyInstance, parts: SandboxParts): void {
  app.get(optionsQuotesPath, async (request, reply) => {
    const principal = await requireScope(parts.tokens, request, reply, 'options:information', 'nested');
    if (principal === undefined) return reply;
    const query = readQuotesQuery(request.query);
    if ('fault' in query) return sendNested(reply, 400, 'invalid_request', 'INVALID_PARAMETER', query.fault);
    const { ticker, range, order, limit } = query;
    const contract = ticker.startsWith('O:') ? optionContract(ticker.slice(2)) : undefined;
    if (contract === undefined) return sendNested(reply, 404, 'not_found', 'NO_DATA', 'No such option contract');
    const { prices, seed } = parts.data;
    const { quotes, more } = quotesOf({ prices, seed, nowMs: parts.data.nowMs() }, contract, range, order, limit);
    const last = quotes.at(-1);
    const nextUrl =
      more && last !== undefined
        ? `"nextUrl":${jsonText(nextPage(request, writeCursor(last.at, ticker, order)))},`
        : '';
    const head = `${nextUrl}"requestId":"${requestId(request)}","status":"OK"`;
    return reply.type('application/json').send(`{${head},"results":[${quotes.map(quoteText).join(',')}]}`);
  });
  app.get(previousDayPath, async (request, reply) => {
    const principal = await requireScope(parts.tokens, request, reply, 'market:information', 'flat');
    if (principal === undefined) return reply;
    const query = readQuery(previousDayQuery, request.query);
    if ('fault' in query) return sendFlat(reply, 400, query.fault, ['INVALID_PARAMETER']);
    const { ticker, adjusted = true } = query.value;
    const bar = parts.data.prices.previousBar(ticker, adjusted);
    if (bar === undefined) return sendFlat(reply, 404, 'No such ticker', ['NO_DATA'], { metadata: { ticker } });
    const { open, high, low, close, volume, trades, day } = bar;
    const prices = { o: dollars(open), h: dollars(high), l: dollars(low), c: dollars(close) };
    const average = Number(((open + high + low + close) / 400).toFixed(4));
    const t = newYorkInstant(day, session.closesAt);
    const result = { T: ticker, v: volume, vw: average, ...prices, t, n: trades };
    return {
      adjusted,
      queryCount: 1,
      resultsCount: 1,
      requestId: requestId(request),
      status: 'OK',
      ticker,
      results: [result],
    };
  });
}

/** The same query with the cursor in it, at the address that was asked. */
function nextPage(request: FastifyRequest, cursor: string): string {
  const query = new URLSearchParams(request.query as Record<string, string>);
  query.set('next', cursor);
  return `http://${request.host}${optionsQuotesPath}?${query}`;
}

function requestId(request: FastifyRequest): string {
  return `sandbox-${request.ledgerSeq}`;
}

/** As text: a nanosecond timestamp has more digits than a JavaScript number. */
function quoteText(quote: OptionQuote): string {
  return `{"askExchange":${quote.askExchange},"askPrice":${dollars(quote.ask)},"askSize":${quote.askSize},"bidExchange":${quote.bidExchange},"bidPrice":${dollars(quote.bid)},"bidSize":${quote.bidSize},"sequenceNumber":${quote.sequence},"sipTimestamp":${quote.at}}`;
}

/** A read options quotes query. */
interface QuotesQuery {
  readonly ticker: string;
  readonly range: QuoteRange;
  readonly order: 'asc' | 'desc';
  readonly limit: number;
}

const firstInstant = 0n;
const lastInstant = 2n ** 63n - 1n;

/**
 * Reads the query of `GET /v1/options/quotes`, cursor and filters together, or says why it is
 * wrong.
 */
function readQuotesQuery(query: unknown): QuotesQuery | { readonly fault: string } {
  const read = readQuery(optionsQuotesQuery, query);
  if ('fault' in read) return read;
  const { ticker, order = 'desc', limit = optionsQuotesLimit.default, next } = read.value;
  const range = rangeOf(read.value);
  if (next === undefined) return { ticker, range, order, limit };
  const last = readCursor(next, ticker, order);
  if (last === undefined) return { fault: 'next: not a cursor of this query' };
  return {
    ticker,
    range: order === 'asc' ? narrower(range, { after: last }) : narrower(range, { before: last }),
    order,
    limit,
  };
}

/**
 * The next page's start: behind this one's last quote. Opaque to readers, bound to contract and
 * order.
 */
function writeCursor(last: bigint, ticker: string, order: 'asc' | 'desc'): string {
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

/**
 * A nanosecond is itself; a date is the whole New York day (docs/platform-assumptions.md, "Data").
 */
function instantsOf(text: string): [first: bigint, last: bigint] {
  const day = parseDay(text);
  if (day === undefined) return [BigInt(text), BigInt(text)];
  const instant = (date: number) => BigInt(newYorkInstant(date, 0)) * 1_000_000n;
  return [instant(day), instant(day + 1) - 1n];
}

/**
 * Company ownership (flat errors), investment themes (nested ones with `meta`), FDA calendar (its
 * 404 has no body at all: the third shape); specification, "Research data".
 */
export function researchRoutes(app: FastifyInstance, parts: SandboxParts): void {
  const { prices, seed, options } = parts.data;
  app.get(ownershipPath, async (request, reply) => {
    const principal = await requireScope(parts.tokens, request, reply, 'market:supplemental', 'flat');
    if (principal === undefined) return reply;
    const query = readQuery(ownershipQuery, request.query);
    if ('fault' in query) return sendFlat(reply, 400, query.fault, ['INVALID_PARAMETER']);
    return { data: holdingsOf(prices, seed, query.value.symbol, query.value.limit ?? Number.POSITIVE_INFINITY) };
  });
  app.get(investmentThemePath, async (request, reply) => {
    const principal = await requireScope(parts.tokens, request, reply, 'market:supplemental', 'nested');
    if (principal === undefined) return reply;
    const query = readQuery(investmentThemeQuery, request.query);
    const meta = { parameter: 'theme' };
    if ('fault' in query) return sendNested(reply, 400, 'invalid_request', 'INVALID_PARAMETER', query.fault, meta);
    const { theme } = query.value;
    const symbols = options.emptyThemes.includes(theme) ? [] : membersOf(seed, theme);
    if (symbols.length === 0) return sendNested(reply, 404, 'not_found', 'NO_DATA', 'No stock in this theme', meta);
    return { theme, data: symbols.map((symbol) => ({ symbol })) };
  });
  app.get(fdaCalendarPath, async (request, reply) => {
    const principal = await requireScope(parts.tokens, request, reply, 'calendar:information', 'nested');
    if (principal === undefined) return reply;
    const data = committeeMeetings(seed, prices.today, options.fdaEvents);
    return data.length === 0 ? reply.code(404).send() : { data };
  });
}
