import type { ReadDeps } from './read-platform.ts';
import { type Fetched, readShape, unsuccessful } from './read-shape.ts';
import { type PreviousDay, previousDay, previousDayPath } from './wire/previous-day.ts';

/** The bar of the last session that is over (specification, "GET /v1/stocks/prev"); `adjusted` false: as traded, before later splits. 404: no such ticker. */
export async function readPreviousDay(
  deps: ReadDeps,
  baseUrl: string,
  query: { readonly ticker: string; readonly adjusted?: boolean },
  signal: AbortSignal,
): Promise<Fetched<PreviousDay>> {
  const operation = 'previous_day';
  const answer = await readShape(deps, { operation, url: `${baseUrl}${previousDayPath}`, query, shape: previousDay }, signal);
  return answer.ok && answer.value.status !== 'OK' ? unsuccessful(operation, answer.value.status) : answer;
}
