import type { ReadDeps } from './read-platform.ts';
import { type Fetched, readShape, unsuccessful } from './read-shape.ts';
import { type ChartQuote, chartQuotes, chartQuotesPath } from './wire/chart-quotes.ts';

/** Quotes of symbols just now (specification, "GET /v1/chart/quotes"). Prices are decimal text. Symbols that the platform doesn't know are left out. */
export async function readChartQuotes(
  deps: ReadDeps,
  baseUrl: string,
  symbols: readonly string[],
  signal: AbortSignal,
): Promise<Fetched<ChartQuote[]>> {
  const operation = 'chart_quotes';
  const query = { symbols: symbols.join(',') };
  const answer = await readShape(deps, { operation, url: `${baseUrl}${chartQuotesPath}`, query, shape: chartQuotes }, signal);
  if (!answer.ok) return answer;
  return answer.value.s === 'ok' ? { ok: true, value: answer.value.d } : unsuccessful(operation, answer.value.s);
}
