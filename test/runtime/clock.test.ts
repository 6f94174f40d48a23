import { getEventListeners } from 'node:events';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { sleepOn, systemClock } from '../../src/runtime/clock.ts';
import { VirtualClock } from '../support/runs/virtual-clock.ts';

it('a sleep ends at once when its signal aborts, before or during it, and leaves no timer and no listener', async () => {
  const clock = new VirtualClock();
  const abort = new AbortController();
  const during = sleepOn(clock, 60_000, abort.signal);
  expect(clock.armed).toBe(1);
  abort.abort();
  await during;
  await sleepOn(clock, 60_000, abort.signal);
  expect(clock.armed).toBe(0);
});

it('a sleep ends with whichever of its signals aborts first, or with its time, and leaves no listener on the others', async () => {
  const clock = new VirtualClock();
  const [first, second] = [new AbortController(), new AbortController()];
  const during = sleepOn(clock, 60_000, first.signal, second.signal);
  second.abort();
  await during;
  const short = sleepOn(clock, 10, first.signal);
  await clock.advance(10);
  await short;
  expect([clock.armed, getEventListeners(first.signal, 'abort')]).toEqual([0, []]);
});

it('the system clock fires its timers, and not those that were cancelled', async () => {
  const fired: string[] = [];
  systemClock.after(0, () => fired.push('cancelled')).cancel();
  await new Promise<void>((resolve) => {
    systemClock.after(1, () => {
      fired.push('armed');
      resolve();
    });
  });
  expect(fired).toEqual(['armed']);
});

it('the monotonic time of the system never goes back', async () => {
  const before = systemClock.monotonicMs();
  await systemClock.sleep(1);
  expect(systemClock.monotonicMs()).toBeGreaterThanOrEqual(before);
});

it('ends long timers of the system together, at whole seconds, never early', () => {
  vi.useFakeTimers();
  try {
    const ended: number[] = [];
    for (const delayMs of [29_100, 30_000, 30_300, 30_700])
      systemClock.after(delayMs, () => ended.push(performance.now()));
    const startMs = performance.now();
    vi.advanceTimersByTime(40_000);
    expect(ended[0]).toBe(startMs + 29_100);
    for (const [index, delayMs] of [30_000, 30_300, 30_700].entries()) {
      const endMs = ended[index + 1] ?? 0;
      expect(endMs % 1000).toBe(0);
      expect(endMs - startMs - delayMs).toBeGreaterThanOrEqual(0);
      expect(endMs - startMs - delayMs).toBeLessThan(1000);
    }
  } finally {
    vi.useRealTimers();
  }
});

describe('issue: With tokens that live for a month, the service asked for new tokens without end.', () => {
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
});
