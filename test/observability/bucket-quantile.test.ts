import { describe, expect, it } from 'vitest';
import { createMetrics } from '../../src/observability/metrics.ts';
import { bucketQuantile, countsSince, sumOfBuckets } from '../../src/observability/read-metric.ts';

const infinite = Number.POSITIVE_INFINITY;

describe('a quantile of buckets', () => {
  it('lies within its bucket, in proportion', () => {
    expect(
      bucketQuantile(0.5, [
        [0.01, 50],
        [0.02, 100],
        [infinite, 100],
      ]),
    ).toBeCloseTo(0.01);
    expect(
      bucketQuantile(0.75, [
        [0.01, 50],
        [0.02, 100],
        [infinite, 100],
      ]),
    ).toBeCloseTo(0.015);
  });

  it('skips buckets that are empty', () => {
    expect(
      bucketQuantile(0.01, [
        [0.01, 0],
        [0.02, 0],
        [0.03, 10],
        [infinite, 10],
      ]),
    ).toBeCloseTo(0.0201);
  });

  it('above the last bound is that bound', () => {
    expect(
      bucketQuantile(0.99, [
        [0.01, 1],
        [5.5, 1],
        [infinite, 10],
      ]),
    ).toBe(5.5);
  });

  it('of nothing is not known', () => {
    expect(bucketQuantile(0.5, [])).toBeUndefined();
    expect(
      bucketQuantile(0.5, [
        [0.01, 0],
        [infinite, 0],
      ]),
    ).toBeUndefined();
  });
});

it('buckets of all streams are added up, and the difference of two readings is what came between', async () => {
  const { latency } = createMetrics().ingest;
  latency.of({ stream: 'account', stage: 'total' }).observe(0.004);
  const before = await sumOfBuckets(latency, { stage: 'total' });
  latency.of({ stream: 'prediction', stage: 'total' }).observe(0.004);
  latency.of({ stream: 'prediction', stage: 'commit_to_ack' }).observe(1);
  latency.of({ stream: 'account', stage: 'total' }).observe(100);
  const now = await sumOfBuckets(latency, { stage: 'total' });
  const between = new Map(countsSince(now, before));
  expect([between.get(0.003), between.get(0.005), between.get(5.5), between.get(infinite)]).toEqual([0, 1, 1, 2]);
});
