import type { Secret } from '../../runtime/secret.ts';
import { badAnswer, type PlatformError } from '../platform-error.ts';
import { CursorCircle } from '../read-list-pages.ts';
import type { ReadDeps } from '../read-venue.ts';
import { type Fetched, readShape, unsuccessful } from './read-platform.ts';
import {
  apiKeyHeader,
  type ChartQuote,
  chartQuotes,
  chartQuotesPath,
  type FoundSymbol,
  foundSymbols,
  type OptionsQuote,
  type OptionsQuotesQuery,
  optionsQuotes,
  optionsQuotesPath,
  type PreviousDay,
  previousDay,
  previousDayPath,
  type SymbolSearchQuery,
  symbolSearchPath,
} from './wire/market-data.ts';
import {
  type FdaEvent,
  fdaCalendar,
  fdaCalendarPath,
  investmentTheme,
  investmentThemePath,
  type Owner,
  type OwnershipQuery,
  ownership,
  ownershipPath,
  type Theme,
} from './wire/research.ts';

/**
 * Matching symbols and companies; a leading `.` searches options (specification, "GET
 * /v1/marketdata/search"). Needs an API key beside the token.
 */
export function searchSymbols(
  deps: ReadDeps,
  baseUrl: string,
  apiKey: Secret,
  query: SymbolSearchQuery,
  signal: AbortSignal,
): Promise<Fetched<FoundSymbol[]>> {
  const headers = { [apiKeyHeader]: apiKey };
  const read = {
    operation: 'search_symbols',
    url: `${baseUrl}${symbolSearchPath}`,
    query,
    shape: foundSymbols,
    headers,
  };
  return readShape(deps, read, signal);
}

/**
 * Quotes for symbols just now (specification, "GET /v1/chart/quotes"). Prices are decimal text.
 * Symbols the platform doesn't know are left out.
 */
export async function readChartQuotes(
  deps: ReadDeps,
  baseUrl: string,
  symbols: readonly string[],
  signal: AbortSignal,
): Promise<Fetched<ChartQuote[]>> {
  const operation = 'chart_quotes';
  const query = { symbols: symbols.join(',') };
  const answer = await readShape(
    deps,
    { operation, url: `${baseUrl}${chartQuotesPath}`, query, shape: chartQuotes },
    signal,
  );
  if (!answer.ok) return answer;
  const { s = 'ok', d } = answer.value;
  return isOk(s) ? { ok: true, value: d } : unsuccessful(operation, s);
}

/**
 * The last finished session's bar (specification, "GET /v1/stocks/prev"); `adjusted` false: as
 * traded, before later splits. 404: no such ticker.
 */
export async function readPreviousDay(
  deps: ReadDeps,
  baseUrl: string,
  query: { readonly ticker: string; readonly adjusted?: boolean },
  signal: AbortSignal,
): Promise<Fetched<PreviousDay>> {
  const operation = 'previous_day';
  const answer = await readShape(
    deps,
    { operation, url: `${baseUrl}${previousDayPath}`, query, shape: previousDay },
    signal,
  );
  const { status = 'OK' } = answer.ok ? answer.value : {};
  return isOk(status) ? answer : unsuccessful(operation, status);
}

/**
 * One page, or why there is no further one. After an error the iteration ends; the pages before it
 * are true but not complete.
 */
type QuotesPage =
  | { readonly ok: true; readonly quotes: readonly OptionsQuote[] }
  | { readonly ok: false; readonly error: PlatformError };

/** 50,000 quotes come to 8 MB of text, an answer's limit here. */
const usualPage = 10_000;

/**
 * All quotes for one option contract, page by page; the next page is asked for when the caller
 * wants it (specification, "GET /v1/options/quotes"). Timestamps keep their nanoseconds, as digits.
 * Only the cursor is taken from `nextUrl`: an answer must not choose the address our token is sent
 * to.
 */
export async function* readOptionsQuotes(
  deps: ReadDeps,
  baseUrl: string,
  query: Omit<OptionsQuotesQuery, 'next'>,
  signal: AbortSignal,
): AsyncGenerator<QuotesPage, void, undefined> {
  const operation = 'options_quotes';
  const read = { operation, url: `${baseUrl}${optionsQuotesPath}`, shape: optionsQuotes };
  const seen = new CursorCircle();
  let next: string | undefined;
  for (;;) {
    const answer = await readShape(deps, { ...read, query: { limit: usualPage, ...query, next } }, signal);
    if (!answer.ok) return yield answer;
    const { status = 'OK', results, nextUrl } = answer.value;
    if (!isOk(status)) return yield unsuccessful(operation, status);
    yield { ok: true, quotes: results };
    if (nextUrl === undefined) return;
    const cursor = cursorOf(nextUrl);
    if (cursor === undefined || seen.closes(cursor)) return yield circle();
    next = cursor;
  }
}

function cursorOf(nextUrl: string): string | undefined {
  // A relative address works too: only its query matters.
  const url = URL.parse(nextUrl, 'http://platform.invalid');
  return url?.searchParams.get('next') ?? undefined;
}

function circle(): QuotesPage {
  return { ok: false, error: { ...badAnswer('nextUrl holds no cursor, or one that was there before'), code: 'LOOP' } };
}

/**
 * The holders of a company's shares (specification, "GET /v1/ownership/data"). Empty for a symbol
 * the platform doesn't know.
 */
export async function readOwnership(
  deps: ReadDeps,
  baseUrl: string,
  query: OwnershipQuery,
  signal: AbortSignal,
): Promise<Fetched<Owner[]>> {
  const url = `${baseUrl}${ownershipPath}`;
  const answer = await readShape(deps, { operation: 'ownership', url, query, shape: ownership }, signal);
  return answer.ok ? { ok: true, value: answer.value.data } : answer;
}

/**
 * A theme's symbols (specification, "GET /v1/stock/investment-theme"). 404: the platform has no
 * data for it.
 */
export async function readInvestmentTheme(
  deps: ReadDeps,
  baseUrl: string,
  theme: Theme,
  signal: AbortSignal,
): Promise<Fetched<string[]>> {
  const url = `${baseUrl}${investmentThemePath}`;
  const answer = await readShape(
    deps,
    { operation: 'investment_theme', url, query: { theme }, shape: investmentTheme },
    signal,
  );
  return answer.ok ? { ok: true, value: answer.value.data.map(({ symbol }) => symbol) } : answer;
}

/**
 * The FDA's advisory committee meetings (specification, "GET
 * /v1/stock/fda-advisory-committee-calendar"). 404: the platform has none.
 */
export async function readFdaCalendar(
  deps: ReadDeps,
  baseUrl: string,
  signal: AbortSignal,
): Promise<Fetched<FdaEvent[]>> {
  const read = { operation: 'fda_calendar', url: `${baseUrl}${fdaCalendarPath}`, shape: fdaCalendar };
  const answer = await readShape(deps, read, signal);
  return answer.ok ? { ok: true, value: answer.value.data } : answer;
}

/** Chart quotes say `ok`, all others `OK`: the case means nothing. */
function isOk(word: string): boolean {
  return word.trim().toUpperCase() === 'OK';
}
