import { z } from 'zod';
import { wireInteger, wireNumber } from './json-numbers.ts';

/** Nanoseconds since the epoch, or a date. */
const when = z.union([z.iso.date(), z.string().regex(/^(?:0|[1-9]\d{0,18})$/)]);

/**
 * Query of `GET /v1/options/quotes`. Specification: the meaning of each parameter, `order`, `limit` 1 to 50000, `next`.
 *
 * Assumption: the names `ticker` (with a leading `O:`, required), `timestamp` and `timestamp.gte` to `timestamp.lt`; a date is a New York day; without
 * `order` the newest come first, without `limit` 1000; `timestamp` is the only field to sort by.
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

/** Specification, "Options quote response": every field of an item. Assumption: none but the timestamp is always there. */
export const optionsQuote = z.looseObject({
  askExchange: wireInteger.optional(),
  askPrice: wireNumber.optional(),
  askSize: wireInteger.optional(),
  bidExchange: wireInteger.optional(),
  bidPrice: wireNumber.optional(),
  bidSize: wireInteger.optional(),
  sequenceNumber: wireInteger.optional(),
  /** Nanoseconds since the epoch. */
  sipTimestamp: wireInteger,
});

/** `status` other than `OK` is an error. Assumption: `nextUrl` carries its cursor as `next`, and is absent on the last page. */
export const optionsQuotes = z.looseObject({
  status: z.string(),
  requestId: z.string().optional(),
  nextUrl: z.string().optional(),
  results: z.array(optionsQuote).default([]),
});

export const optionsQuotesPath = '/v1/options/quotes';
export const optionsQuotesLimit = { default: 1000, max: 50_000 } as const;

export type OptionsQuotesQuery = z.infer<typeof optionsQuotesQuery>;
export type OptionsQuote = z.infer<typeof optionsQuote>;
