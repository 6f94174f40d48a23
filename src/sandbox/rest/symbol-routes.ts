import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { chartQuotesPath, chartQuotesQuery } from '../../platform/wire/chart-quotes.ts';
import { apiKeyHeader, symbolSearchLimit, symbolSearchPath, symbolSearchQuery } from '../../platform/wire/symbol-search.ts';
import { apiKey } from '../api-key.ts';
import { chartItem } from '../data/chart-values.ts';
import { findSymbols } from '../data/find-symbols.ts';
import type { SandboxParts } from '../sandbox-parts.ts';
import { sendFlat, sendNested } from './error-bodies.ts';
import { readQuery } from './read-query.ts';
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
