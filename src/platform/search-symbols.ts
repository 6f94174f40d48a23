import type { Secret } from '../runtime/secret.ts';
import type { ReadDeps } from './read-platform.ts';
import { type Fetched, readShape } from './read-shape.ts';
import { apiKeyHeader, type FoundSymbol, foundSymbols, type SymbolSearchQuery, symbolSearchPath } from './wire/symbol-search.ts';

/** Symbols and companies that match; a leading `.` searches options (specification, "GET /v1/marketdata/search"). Needs an API key beside the token. */
export function searchSymbols(
  deps: ReadDeps,
  baseUrl: string,
  apiKey: Secret,
  query: SymbolSearchQuery,
  signal: AbortSignal,
): Promise<Fetched<FoundSymbol[]>> {
  const headers = { [apiKeyHeader]: apiKey };
  const read = { operation: 'search_symbols', url: `${baseUrl}${symbolSearchPath}`, query, shape: foundSymbols, headers };
  return readShape(deps, read, signal);
}
