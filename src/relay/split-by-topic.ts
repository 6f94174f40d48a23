import type { LogRow } from '../domain/committed-batch.ts';

/**
 * Runs of rows for one topic, in order. A continuity mark says "complete up to here", so it may leave only once everything before it is acknowledged:
 * each run is a send of its own, and the next one waits for it.
 */
export function splitByTopic<Row extends LogRow>(rows: readonly Row[]): (readonly Row[])[] {
  const runs: Row[][] = [];
  let run: Row[] = [];
  for (const row of rows) {
    if (run[0] !== undefined && run[0].topic !== row.topic) {
      runs.push(run);
      run = [];
    }
    run.push(row);
  }
  if (run.length > 0) runs.push(run);
  return runs;
}
