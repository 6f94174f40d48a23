import type { HistoryDocument, HistorySample } from '../../contract/pipeline-answers.ts';
import { formatInstant } from '../../domain/instant.ts';
import { type PipelineReading, ratesBetween, type Waiting } from '../fleet/pipeline-reading.ts';

/**
 * `readings`: oldest first. Each sample has the rates since the reading before it, so the first
 * reading has none. `sinceMs`: only newer ones.
 */
export function historyDocument(
  readings: readonly PipelineReading[],
  { everyMs, sinceMs = 0 }: { readonly everyMs: number; readonly sinceMs?: number },
): HistoryDocument {
  const samples: HistorySample[] = [];
  for (const [index, reading] of readings.entries()) {
    const before = readings[index - 1];
    if (before !== undefined && reading.atMs > sinceMs) samples.push(sampleOf(before, reading));
  }
  return { everyMs, samples };
}

function sampleOf(before: PipelineReading, reading: PipelineReading): HistorySample {
  const { atMs, ingest, updatesTopic, stateTopic, resultsTopic, heartbeatMs } = reading;
  const age = ({ oldestMs }: Waiting) => (oldestMs === undefined ? 0 : Math.max(0, Math.round(atMs - oldestMs)));
  return {
    at: formatInstant(atMs),
    ...ratesBetween(before, reading),
    ingestQueued: ingest.rows,
    ingestAgeMs: age(ingest),
    relayRows: updatesTopic.rows,
    relayAgeMs: age(updatesTopic),
    stateRows: stateTopic.rows,
    stateAgeMs: age(stateTopic),
    resultRows: resultsTopic.rows,
    resultAgeMs: age(resultsTopic),
    heartbeatAgeMs: heartbeatMs === undefined ? null : Math.max(0, Math.round(atMs - heartbeatMs)),
  };
}
