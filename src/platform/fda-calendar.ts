import type { ReadDeps } from './read-platform.ts';
import { type Fetched, readShape } from './read-shape.ts';
import { type FdaEvent, fdaCalendar, fdaCalendarPath } from './wire/fda-calendar.ts';

/** Meetings of the FDA's advisory committees (specification, "GET /v1/stock/fda-advisory-committee-calendar"). 404: the platform has none. */
export async function readFdaCalendar(deps: ReadDeps, baseUrl: string, signal: AbortSignal): Promise<Fetched<FdaEvent[]>> {
  const read = { operation: 'fda_calendar', url: `${baseUrl}${fdaCalendarPath}`, shape: fdaCalendar };
  const answer = await readShape(deps, read, signal);
  return answer.ok ? { ok: true, value: answer.value.data } : answer;
}
