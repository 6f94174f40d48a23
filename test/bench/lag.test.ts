import { expect, test } from 'vitest';
import { judgeLag, type LagSample } from '../../bench/lag.ts';

/** One sample each half second for a minute. */
function lagOf(at: (second: number) => number): LagSample[] {
  return Array.from({ length: 120 }, (_, i) => ({ atMs: 1_000_000 + i * 500, lag: at(i / 2) }));
}

test('a lag that stays where it is is bounded', () => {
  const verdict = judgeLag(
    lagOf((s) => 300 + (s % 2) * 100),
    10_000,
  );
  expect(verdict.bounded).toBe(true);
  expect(verdict.growthPerSecond).toBe(0);
});

test('one pause that is worked off again is no trend', () => {
  const verdict = judgeLag(
    lagOf((s) => (s > 50 && s < 53 ? 8000 : 300)),
    10_000,
  );
  expect(verdict).toEqual({ bounded: true, growthPerSecond: 0, highest: 8000, median: 300 });
});

test('a lag that grows by one percent of the rate is not bounded, however small it is yet', () => {
  const verdict = judgeLag(
    lagOf((s) => 100 * s),
    10_000,
  );
  expect(verdict.bounded).toBe(false);
  expect(verdict.growthPerSecond).toBeCloseTo(100);
});

test('a lag of more than a second of the rate is a backlog, even when it does not grow', () => {
  const standing = lagOf(() => 12_000);
  expect(judgeLag(standing, 10_000).bounded).toBe(false);
});

test('a falling lag is bounded', () => {
  const falling = lagOf((s) => 5000 - 50 * s);
  expect(judgeLag(falling, 10_000).bounded).toBe(true);
});
