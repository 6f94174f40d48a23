import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
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
import { equalSecrets } from '../auth/opaque-token.ts';
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
import { scoped } from './require-scope.ts';

/** Symbol search (nested errors) and chart quotes (flat ones); specification, "Market data". */
export function symbolRoutes(app: FastifyInstance, parts: SandboxParts): void {
  const { prices } = parts.data;
  const search = dataRoute(parts, 'market:information', 'nested', symbolSearchQuery, ({ query, limit }) =>
    findSymbols(prices, query, limit ?? symbolSearchLimit.default),
  );
  const searchByKey = scoped(parts, 'market:information', 'nested', (request, reply) => {
    const key = request.headers[apiKeyHeader.toLowerCase()];
    if (typeof key === 'string' && equalSecrets(apiKey, key)) return search(request, reply);
    return sendNested(reply, 401, 'authentication', 'INVALID_API_KEY', `${apiKeyHeader} is missing or wrong`);
  });
  const quote = dataRoute(parts, 'market:information', 'flat', chartQuotesQuery, ({ symbols }, reply) => {
    const found = symbols.split(',').flatMap((symbol) => chartItem(prices, symbol.trim()) ?? []);
    if (found.length === 0) return sendFlat(reply, 404, 'None of these symbols has a quote', ['NO_DATA']);
    return { s: 'ok', d: found };
  });
  app.get(symbolSearchPath, searchByKey);
  app.get(chartQuotesPath, quote);
}

/** A read of data: scope, then query, each with its error in the route's own shape. */
function dataRoute<Shape extends z.ZodObject>(
  parts: SandboxParts,
  scope: string,
  errors: 'flat' | 'nested',
  shape: Shape,
  answer: (query: z.output<Shape>, reply: FastifyReply, request: FastifyRequest) => unknown,
) {
  return scoped(parts, scope, errors, (request, reply) => {
    const query = readQuery(shape, request.query);
    return 'value' in query ? answer(query.value, reply, request) : badParameter(reply, errors, query.fault);
  });
}

function badParameter(reply: FastifyReply, errors: 'flat' | 'nested', fault: string): FastifyReply {
  if (errors === 'flat') return sendFlat(reply, 400, fault, ['INVALID_PARAMETER']);
  return sendNested(reply, 400, 'invalid_request', 'INVALID_PARAMETER', fault);
}

/**
 * Options quotes (nested errors) and the previous day's bar (flat ones); specification, "Market
 * data".
 */
export function quotesRoutes(app: FastifyInstance, parts: SandboxParts): void {
  const { prices, seed } = parts.data;
  const listQuotes = dataRoute(parts, 'options:information', 'nested', optionsQuotesQuery, (query, reply, request) => {
    const { ticker, order = 'desc', limit = optionsQuotesLimit.default } = query;
    const range = rangeOf(query, order);
    if (range === undefined) return badParameter(reply, 'nested', 'next: not a cursor of this query');
    const contract = ticker.startsWith('O:') ? optionContract(ticker.slice(2)) : undefined;
    if (contract === undefined) return sendNested(reply, 404, 'not_found', 'NO_DATA', 'No such option contract');
    const { quotes, more } = quotesOf({ prices, seed, nowMs: parts.clock.nowMs() }, contract, range, order, limit);
    const last = quotes.at(-1);
    const nextUrl =
      more && last !== undefined
        ? `"nextUrl":${jsonText(nextPage(request, writeCursor(last.at, ticker, order)))},`
        : '';
    const head = `${nextUrl}"requestId":"${requestId(request)}","status":"OK"`;
    return reply.type('application/json').send(`{${head},"results":[${quotes.map(quoteText).join(',')}]}`);
  });
  const showDay = dataRoute(parts, 'market:information', 'flat', previousDayQuery, (query, reply, request) => {
    const { ticker, adjusted = true } = query;
    const bar = prices.previousBar(ticker, adjusted);
    if (bar === undefined) return sendFlat(reply, 404, 'No such ticker', ['NO_DATA'], { metadata: { ticker } });
    const { open, high, low, close, volume, trades, day } = bar;
    const edges = { o: dollars(open), h: dollars(high), l: dollars(low), c: dollars(close) };
    const average = Number(((open + high + low + close) / 400).toFixed(4));
    const t = newYorkInstant(day, session.closesAt);
    const result = { T: ticker, v: volume, vw: average, ...edges, t, n: trades };
    const counts = { queryCount: 1, resultsCount: 1 };
    return { adjusted, ...counts, requestId: requestId(request), status: 'OK', ticker, results: [result] };
  });
  app.get(optionsQuotesPath, listQuotes);
  app.get(previousDayPath, showDay);
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

const firstInstant = 0n;
const lastInstant = 2n ** 63n - 1n;

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

/**
 * All filters at once, and the cursor; they may contradict each other, and then nothing is between.
 * Undefined: the cursor is none of this query.
 */
function rangeOf(query: OptionsQuotesQuery, order: 'asc' | 'desc'): QuoteRange | undefined {
  let range: QuoteRange = { after: firstInstant - 1n, before: lastInstant };
  const limit = (text: string | undefined, edge: (first: bigint, last: bigint) => Partial<QuoteRange>) => {
    if (text !== undefined) range = narrower(range, edge(...instantsOf(text)));
  };
  limit(query.timestamp, (first, last) => ({ after: first - 1n, before: last + 1n }));
  limit(query['timestamp.gte'], (first) => ({ after: first - 1n }));
  limit(query['timestamp.gt'], (_first, last) => ({ after: last }));
  limit(query['timestamp.lte'], (_first, last) => ({ before: last + 1n }));
  limit(query['timestamp.lt'], (first) => ({ before: first }));
  if (query.next === undefined) return range;
  const last = readCursor(query.next, query.ticker, order);
  return last === undefined ? undefined : narrower(range, order === 'asc' ? { after: last } : { before: last });
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
  const { prices, seed, emptyThemes, fdaEvents } = parts.data;
  const listOwners = dataRoute(parts, 'market:supplemental', 'flat', ownershipQuery, ({ symbol, limit }) => ({
    data: holdingsOf(prices, seed, symbol, limit ?? Number.POSITIVE_INFINITY),
  }));
  const showTheme = scoped(parts, 'market:supplemental', 'nested', (request, reply) => {
    const query = readQuery(investmentThemeQuery, request.query);
    const meta = { parameter: 'theme' };
    if ('fault' in query) return sendNested(reply, 400, 'invalid_request', 'INVALID_PARAMETER', query.fault, meta);
    const { theme } = query.value;
    const symbols = emptyThemes.includes(theme) ? [] : membersOf(seed, theme);
    if (symbols.length === 0) return sendNested(reply, 404, 'not_found', 'NO_DATA', 'No stock in this theme', meta);
    return { theme, data: symbols.map((symbol) => ({ symbol })) };
  });
  const listMeetings = scoped(parts, 'calendar:information', 'nested', (_request, reply) => {
    const data = committeeMeetings(seed, prices.today, fdaEvents);
    return data.length === 0 ? reply.code(404).send() : { data };
  });
  app.get(ownershipPath, listOwners);
  app.get(investmentThemePath, showTheme);
  app.get(fdaCalendarPath, listMeetings);
}
