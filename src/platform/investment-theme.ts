import type { ReadDeps } from './read-platform.ts';
import { type Fetched, readShape } from './read-shape.ts';
import { investmentTheme, investmentThemePath, type Theme } from './wire/investment-theme.ts';

/** The symbols of a theme (specification, "GET /v1/stock/investment-theme"). 404: the platform has no data for it. */
export async function readInvestmentTheme(
  deps: ReadDeps,
  baseUrl: string,
  theme: Theme,
  signal: AbortSignal,
): Promise<Fetched<string[]>> {
  const url = `${baseUrl}${investmentThemePath}`;
  const answer = await readShape(deps, { operation: 'investment_theme', url, query: { theme }, shape: investmentTheme }, signal);
  return answer.ok ? { ok: true, value: answer.value.data.map(({ symbol }) => symbol) } : answer;
}
