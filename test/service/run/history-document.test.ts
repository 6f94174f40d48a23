import { expect, it } from 'vitest';
import { historyAnswer } from '../../../src/contract/pipeline-answers.ts';
import type { PipelineReading } from '../../../src/service/fleet/pipeline-reading.ts';
import { historyDocument } from '../../../src/service/run/service-view.ts';
import { quietReading, sampledMs } from '../../support/rest/status-parts.ts';

const infinite = Number.POSITIVE_INFINITY;
const after = (seconds: number, over: Partial<PipelineReading> = {}): PipelineReading => ({
  ...quietReading,
  atMs: sampledMs + seconds * 1000,
  monotonicMs: quietReading.monotonicMs + seconds * 1000,
  ...over,
});

const readings = [
  after(0, {
    latency: [
      [0.01, 5],
      [infinite, 5],
    ],
  }),
  after(10, {
    updates: 650,
    latency: [
      [0.01, 55],
      [infinite, 55],
    ],
    updatesTopic: { rows: 4, oldestMs: sampledMs + 8_000 },
  }),
  after(20, {
    updates: 650,
    latency: [
      [0.01, 55],
      [infinite, 55],
    ],
    heartbeatMs: sampledMs + 19_000,
  }),
];

it('has the rates between two readings, and the age of what waits', () => {
  const { everyMs, samples } = historyDocument(readings, { everyMs: 10_000 });
  expect(historyAnswer.parse({ everyMs, samples })).toEqual({ everyMs, samples });
  expect(samples).toMatchObject([
    {
      updatesPerSecond: 5,
      p50Ms: 5,
      p99Ms: 9.9,
      relayRows: 4,
      relayAgeMs: 2_000,
      stateAgeMs: 0,
      heartbeatAgeMs: 15_000,
    },
    { updatesPerSecond: 0, p50Ms: null, p99Ms: null, relayRows: 0, relayAgeMs: 0, heartbeatAgeMs: 1_000 },
  ]);
});

it('has only the samples after a time, each with the rates since the one before', () => {
  const { samples } = historyDocument(readings, { everyMs: 10_000, sinceMs: sampledMs + 10_000 });
  expect(samples.map(({ at }) => at)).toEqual([new Date(sampledMs + 20_000).toISOString()]);
});

it('is empty before the second reading', () => {
  expect(historyDocument(readings.slice(0, 1), { everyMs: 10_000 }).samples).toEqual([]);
});
