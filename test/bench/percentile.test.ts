import { expect, test } from 'vitest';
import { percentile } from '../../bench/percentile.ts';

test('is a value that was measured: the nearest rank, in whatever order they came', () => {
  const values = Array.from({ length: 100 }, (_, i) => ((i * 37) % 100) + 1);
  expect([0, 0.5, 0.99, 1].map((q) => percentile(values, q))).toEqual([1, 50, 99, 100]);
  expect(percentile([7], 0.99)).toBe(7);
  expect(percentile([], 0.5)).toBeNaN();
});
