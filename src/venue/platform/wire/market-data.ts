import { Decimal } from 'decimal.js';
import { z } from 'zod';
import { neededText, optionalField, optionalText, readableOf, shownText } from './optional-field.ts';

/**
 * Numbers from the market data endpoints. These send prices as JSON numbers (specification, "Chart
 * quote response"); order entry sends strings. Readers get text. If a double cannot hold a number,
 * `parseJson` has kept its every digit. If one came through as a double, it shows the digits sent.
 */
const wireNumber = z
  .union([z.number(), z.string().regex(/^-?\d+(?:\.\d+)?(?:[eE][+-]?\d{1,4})?$/)])
  .transform((value) => new Decimal(value).toFixed());

/** An integer with up to 64 bits as its digits: a nanosecond timestamp is beyond 2^53. */
const wireInteger = z.union([z.int(), z.string().regex(/^-?\d{1,19}$/)]).transform(String);

export const optionalNumber = optionalField(wireNumber);
export const optionalInteger = optionalField(wireInteger);

/**
 * The query of `GET /v1/marketdata/search`. Specification, all of it: a leading `.` searches
 * options; `limit` 1 to 100, default 20.
 */
export const symbolSearchQuery = z.object({
  query: z.string().min(1),
  limit: z.int().min(1).max(100).optional(),
});

/** Specification, "Symbol search result". Option symbols are compact OCC. */
const foundSymbol = z.looseObject({
  symbol: neededText,
  description: shownText,
  /** The category. */
  tag: shownText,
  /** `stock`, `option`, `index` and more. */
  type: shownText,
});

export const foundSymbols = readableOf(foundSymbol);

export const symbolSearchPath = '/v1/marketdata/search';
/** Beside the bearer token, both required (specification, "Authentication", 2). */
export const apiKeyHeader = 'X-API-Key';
export const symbolSearchLimit = { default: 20, max: 100 } as const;

export type SymbolSearchQuery = z.infer<typeof symbolSearchQuery>;
export type FoundSymbol = z.infer<typeof foundSymbol>;

/**
 * The query of `GET /v1/chart/quotes`. Specification: `symbols`. Assumption: several are separated
 * by commas.
 */
export const chartQuotesQuery = z.object({ symbols: z.string().min(1) });

/**
 * Specification, "Chart quote response": all fields' names. Assumption: any in `v` may be absent.
 */
const chartQuoteValues = z.looseObject({
  ask: optionalNumber,
  bid: optionalNumber,
  /** Change since the previous close. */
  ch: optionalNumber,
  /** The same in percent. */
  chp: optionalNumber,
  description: optionalText,
  exchange: optionalText,
  high_price: optionalNumber,
  low_price: optionalNumber,
  /** Last traded price. */
  lp: optionalNumber,
  open_price: optionalNumber,
  prev_close_price: optionalNumber,
  short_name: optionalText,
  volume: optionalNumber,
});

const chartQuote = z.looseObject({ n: shownText, s: neededText, v: chartQuoteValues });

/** `s` is `ok` on success. Left out, it means the same. */
export const chartQuotes = z.looseObject({ s: optionalText, d: readableOf(chartQuote) });

export const chartQuotesPath = '/v1/chart/quotes';

export type ChartQuote = z.infer<typeof chartQuote>;

/**
 * The query of `GET /v1/stocks/prev`. Specification: the meaning. Assumption: the names, and
 * `adjusted` is true when left out.
 */
export const previousDayQuery = z.object({ ticker: z.string().min(1), adjusted: z.boolean().optional() });

/**
 * Specification, "Previous-day bar response". Assumption: `n` trades, `t` milliseconds since the
 * epoch at the close, `vw` the average by volume.
 */
const dayBar = z.looseObject({
  T: optionalText,
  o: optionalNumber,
  h: optionalNumber,
  l: optionalNumber,
  c: optionalNumber,
  v: optionalNumber,
  n: optionalInteger,
  t: optionalInteger,
  vw: optionalNumber,
});

/** `status` other than `OK` is an error; left out, it says nothing. */
export const previousDay = z.looseObject({
  adjusted: optionalField(z.boolean()),
  queryCount: optionalInteger,
  resultsCount: optionalInteger,
  requestId: optionalText,
  status: optionalText,
  ticker: optionalText,
  results: readableOf(dayBar).default([]),
});

export const previousDayPath = '/v1/stocks/prev';

export type PreviousDay = z.infer<typeof previousDay>;

/** Nanoseconds since the epoch, or a date. */
const when = z.union([z.iso.date(), z.string().regex(/^(?:0|[1-9]\d{0,18})$/)]);

/**
 * The query of `GET /v1/options/quotes`. Specification: each parameter's meaning, `order`, `limit`
 * 1 to 50000, `next`.
 *
 * Assumption: the names `ticker` (with a leading `O:`, required), `timestamp` and `timestamp.gte`
 * to `timestamp.lt`; a date is a New York day; without `order` the newest come first, without
 * `limit` 1000; `timestamp` is the only field to sort by.
 */
export const optionsQuotesQuery = z.object({
  ticker: z.string().min(1),
  timestamp: when.optional(),
  'timestamp.gte': when.optional(),
  'timestamp.gt': when.optional(),
  'timestamp.lte': when.optional(),
  'timestamp.lt': when.optional(),
  order: z.enum(['asc', 'desc']).optional(),
  limit: z.int().min(1).max(50_000).optional(),
  sort: z.enum(['timestamp']).optional(),
  next: z.string().min(1).optional(),
});

/**
 * Specification, "Options quote response": an item's every field. Assumption: any may be absent.
 */
const optionsQuote = z.looseObject({
  askExchange: optionalInteger,
  askPrice: optionalNumber,
  askSize: optionalInteger,
  bidExchange: optionalInteger,
  bidPrice: optionalNumber,
  bidSize: optionalInteger,
  sequenceNumber: optionalInteger,
  /** Nanoseconds since the epoch. */
  sipTimestamp: optionalInteger,
});

/**
 * `status` other than `OK` is an error; left out, it says nothing. Assumption: `nextUrl` carries
 * its cursor as `next`, and is absent on the last page.
 */
export const optionsQuotes = z.looseObject({
  status: optionalText,
  requestId: optionalText,
  nextUrl: optionalText,
  results: readableOf(optionsQuote).default([]),
});

export const optionsQuotesPath = '/v1/options/quotes';
export const optionsQuotesLimit = { default: 1000, max: 50_000 } as const;

export type OptionsQuotesQuery = z.infer<typeof optionsQuotesQuery>;
export type OptionsQuote = z.infer<typeof optionsQuote>;
