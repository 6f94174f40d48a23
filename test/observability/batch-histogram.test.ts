import { Histogram, Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { BatchHistogram } from '../../src/observability/batch-histogram.ts';

const bounds = [0.001, 0.01, 0.5, 2];

describe('the histogram of values by the batch', () => {
  it('shows what the one of prom-client shows for the same values', async () => {
    const [ours, theirs] = [new Registry(), new Registry()];
    const configuration = { name: 'seconds', help: 'Time', labelNames: ['stream', 'stage'], buckets: bounds };
    const batch = new BatchHistogram(ours, configuration);
    const plain = new Histogram({ ...configuration, registers: [theirs] });
    expect(batch).toMatchObject({ labelNames: Reflect.get(plain, 'labelNames'), upperBounds: bounds });
    for (const labels of [
      { stream: 'account', stage: 'total' },
      { stream: 'prediction', stage: 'a "quoted" one' },
      { stream: 'account', stage: 'never observed' },
    ]) {
      const series = batch.of(labels);
      plain.zero(labels);
      if (labels.stage === 'never observed') continue;
      for (const [value, times] of [
        [0, 3],
        [0.001, 1],
        [0.0011, 2],
        [0.5, 4],
        [1.75, 1],
        [2.5, 2],
        [-1, 1],
      ] as const) {
        series.observe(value, times);
        for (let i = 0; i < times; i += 1) plain.observe(labels, value);
      }
    }
    expect(await ours.metrics()).toBe(await theirs.metrics());
    expect(batch.of({ stream: 'account', stage: 'total' })).toBe(batch.of({ stream: 'account', stage: 'total' }));
  });

  it('refuses what is no number, as prom-client does', () => {
    const configuration = { name: 'seconds', help: 'Time', labelNames: ['stage'], buckets: bounds };
    const series = new BatchHistogram(new Registry(), configuration).of({ stage: 'total' });
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY]) expect(() => series.observe(value)).toThrow(TypeError);
  });
});
