import { expect, test } from 'vitest';
import { searchRate } from '../../bench/search-rate.ts';

const probing = (capacity: number) => async (rate: number) => ({ rate, bounded: rate <= capacity });

test('the search goes down until a rate is bounded, and tells every rate it tried', async () => {
  const { found, probes } = await searchRate({ startRate: 10_000, factor: 0.9, maxProbes: 8 }, probing(8500));
  expect(found?.rate).toBe(8100);
  expect(probes.map(({ rate }) => rate)).toEqual([10_000, 9000, 8100]);
});

test('a first rate that is bounded is the answer', async () => {
  const { found, probes } = await searchRate({ startRate: 5000, factor: 0.9, maxProbes: 8 }, probing(8500));
  expect(found?.rate).toBe(5000);
  expect(probes).toHaveLength(1);
});

test('when no rate is bounded there is no answer, after so many probes', async () => {
  const { found, probes } = await searchRate({ startRate: 5000, factor: 0.5, maxProbes: 3 }, probing(10));
  expect(found).toBeUndefined();
  expect(probes.map(({ rate }) => rate)).toEqual([5000, 2500, 1250]);
});
