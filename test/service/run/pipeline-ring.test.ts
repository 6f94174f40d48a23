import { expect, it, onTestFinished } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { readPipeline } from '../../../src/service/fleet/pipeline-reading.ts';
import { PipelineRing } from '../../../src/service/run/pipeline-ring.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

async function startRing(kept = 361) {
  const clock = new VirtualClock();
  const metrics = createMetrics();
  const ingest = { depth: 2, oldestUncommittedMs: clock.nowMs() };
  const read = () => readPipeline({ clock, metrics, ingest });
  const ring = new PipelineRing({ clock, log: silentLog, read }, { everyMs: 10_000, kept });
  await ring.rounds.start();
  await clock.advance(0);
  onTestFinished(() => ring.rounds.drain());
  const commit = (updates: number, seconds: number) => {
    metrics.ingest.observations.inc({ stream: 'account', cause: 'stream', result: 'applied' }, updates);
    metrics.ingest.latency.of({ stream: 'account', stage: 'total' }).observe(seconds, updates);
  };
  return { clock, metrics, ring, read, commit };
}

it('has the rates of the last minute only', async () => {
  const { clock, ring, read, commit } = await startRing();
  commit(1000, 3);
  await clock.advance(60_000);
  expect(ring.lastMinute(await read())).toMatchObject({ updatesPerSecond: 16.7 });
  await clock.advance(20_000);
  commit(300, 0.004);
  await clock.advance(20_000);
  const { updatesPerSecond, p50Ms, p99Ms } = ring.lastMinute(await read());
  expect([updatesPerSecond, p50Ms, p99Ms]).toEqual([5, 4, 5]);
  await clock.advance(120_000);
  expect(ring.lastMinute(await read())).toEqual({ updatesPerSecond: 0, p50Ms: null, p99Ms: null });
});

it('has no rates before its first reading', async () => {
  const clock = new VirtualClock();
  const read = () =>
    readPipeline({ clock, metrics: createMetrics(), ingest: { depth: 0, oldestUncommittedMs: undefined } });
  const ring = new PipelineRing({ clock, log: silentLog, read }, { everyMs: 10_000, kept: 361 });
  expect(ring.lastMinute(await read())).toEqual({ updatesPerSecond: 0, p50Ms: null, p99Ms: null });
});

it('reads what waits, and since when, from the gauges', async () => {
  const { metrics, read, clock } = await startRing();
  metrics.relay.pending.set({ topic: 'state' }, 7);
  metrics.relay.oldestPending.set({ topic: 'state' }, 1_795_000_000);
  const { ingest, stateTopic, updatesTopic, heartbeatMs } = await read();
  expect([ingest, stateTopic, updatesTopic, heartbeatMs]).toEqual([
    { rows: 2, oldestMs: clock.nowMs() },
    { rows: 7, oldestMs: 1_795_000_000_000 },
    { rows: 0 },
    undefined,
  ]);
});

it('keeps a fixed number of readings, the newest', async () => {
  const { clock, ring } = await startRing(3);
  await clock.advance(100_000);
  expect(ring.kept.map(({ monotonicMs }) => monotonicMs)).toEqual([80_000, 90_000, 100_000]);
});

it('goes on after a reading that failed', async () => {
  const clock = new VirtualClock();
  let failing = true;
  const good = { clock, metrics: createMetrics(), ingest: { depth: 0, oldestUncommittedMs: undefined } };
  const read = () => (failing ? Promise.reject(new Error('a metric is gone')) : readPipeline(good));
  const ring = new PipelineRing({ clock, log: silentLog, read }, { everyMs: 10_000, kept: 3 });
  await ring.rounds.start();
  onTestFinished(() => ring.rounds.drain());
  await clock.advance(10_000);
  failing = false;
  await clock.advance(10_000);
  expect(ring.kept).toHaveLength(1);
});
