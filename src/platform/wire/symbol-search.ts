import { z } from 'zod';

/** Query of `GET /v1/marketdata/search`. Specification, all of it: a leading `.` searches options; `limit` 1 to 100, default 20. */
export const symbolSearchQuery = z.object({
  query: z.string().min(1),
  limit: z.int().min(1).max(100).optional(),
});

/** Specification, "Symbol search result". Assumption: all four fields are always there. Option symbols are compact OCC. */
export const foundSymbol = z.looseObject({
  symbol: z.string().min(1),
  description: z.string(),
  /** The category. */
  tag: z.string(),
  /** `stock`, `option`, `index` and more. */
  type: z.string(),
});

export const foundSymbols = z.array(foundSymbol);

export const symbolSearchPath = '/v1/marketdata/search';
/** Beside the bearer token, both required (specification, "Authentication", 2). */
export const apiKeyHeader = 'X-API-Key';
export const symbolSearchLimit = { default: 20, max: 100 } as const;

export type SymbolSearchQuery = z.infer<typeof symbolSearchQuery>;
export type FoundSymbol = z.infer<typeof foundSymbol>;
