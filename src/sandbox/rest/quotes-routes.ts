import type { FastifyInstance, FastifyRequest } from 'fastify';
import { optionsQuotesPath } from '../../platform/wire/options-quotes.ts';
import { previousDayPath, previousDayQuery } from '../../platform/wire/previous-day.ts';
import { dollars } from '../data/chart-values.ts';
import { optionContract } from '../data/option-contracts.ts';
import { type OptionQuote, quotesOf } from '../data/option-quotes.ts';
import { newYorkInstant, session } from '../data/trading-days.ts';
import { jsonText } from '../exchange/json-text.ts';
import type { SandboxParts } from '../sandbox-parts.ts';
import { sendFlat, sendNested } from './error-bodies.ts';
import { readQuotesQuery, writeCursor } from './options-quotes-query.ts';
import { readQuery } from './read-query.ts';
import { requireScope } from './require-scope.ts';

/** Options quotes (nested errors) and the bar of the previous day (flat ones); specification, "Market data". */
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
      more && last !== undefined ? `"nextUrl":${jsonText(nextPage(request, writeCursor(last.at, ticker, order)))},` : '';
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
    return { adjusted, queryCount: 1, resultsCount: 1, requestId: requestId(request), status: 'OK', ticker, results: [result] };
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
