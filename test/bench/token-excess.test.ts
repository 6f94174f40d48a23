import { expect, test } from 'vitest';
import { tokenExcess } from '../../bench/token-excess.ts';

const budget = { perSecond: 5, burst: 20 };
const steady = (count: number, everyMs: number, fromMs = 0) =>
  Array.from({ length: count }, (_, i) => fromMs + i * everyMs);

test('is at most 0 for a burst and then the rate, for as long as one likes', () => {
  expect(tokenExcess([...steady(20, 0), ...steady(1000, 200, 200)], budget)).toBeLessThanOrEqual(0);
});

test('counts what one window holds too many, wherever it lies', () => {
  expect(tokenExcess([...steady(10, 1000), ...steady(23, 0, 60_000)], budget)).toBe(3);
  expect(tokenExcess(steady(100, 100), budget)).toBeGreaterThan(0);
});

test('does not save more than the burst while nothing is asked', () => {
  expect(tokenExcess([0, ...steady(21, 0, 3_600_000)], budget)).toBe(1);
});

test('of nothing is no excess', () => {
  expect(tokenExcess([], budget)).toBe(Number.NEGATIVE_INFINITY);
});
