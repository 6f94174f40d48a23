// What a user saw: With tokens that live for a month, the service asked for new tokens without end.

import { afterEach, expect, it, vi } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';

afterEach(() => {
  vi.useRealTimers();
});

const thirtyDaysMs = 30 * 86_400_000;

// Found by reading: a platform whose tokens live for a month made the renewal timer longer than
// 2^31 − 1 ms. Node fires such a one after 1 ms, so each new token was renewed at once, and the
// token endpoint asked without end.
it('fires a timer of thirty days after thirty days', () => {
  vi.useFakeTimers();
  let fired = 0;
  systemClock.after(thirtyDaysMs, () => {
    fired += 1;
  });
  vi.advanceTimersByTime(thirtyDaysMs - 1);
  expect(fired).toBe(0);
  vi.advanceTimersByTime(1);
  expect(fired).toBe(1);
  vi.advanceTimersByTime(2 * thirtyDaysMs);
  expect(fired).toBe(1);
});

it('can be cancelled before and after the first part of it', () => {
  vi.useFakeTimers();
  const fired: string[] = [];
  systemClock.after(thirtyDaysMs, () => fired.push('first')).cancel();
  const second = systemClock.after(thirtyDaysMs, () => fired.push('second'));
  vi.advanceTimersByTime(thirtyDaysMs - 1000);
  second.cancel();
  vi.advanceTimersByTime(thirtyDaysMs);
  expect(fired).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
});
