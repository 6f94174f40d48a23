import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nextProbe } from '../../../src/service/commands/probe-watch.ts';
import { RateBreaker } from '../../../src/service/commands/rate-breaker.ts';
import { RateBudget, TokenBucket } from '../../../src/service/commands/rate-budget.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

const gaps = fc.array(fc.integer({ min: 0, max: 400 }), { minLength: 1, maxLength: 200 });

/** The most of these instants within any window of this length. */
function busiest(times: readonly number[], windowMs: number): number {
  return Math.max(0, ...times.map((from) => times.filter((at) => at >= from && at < from + windowMs).length));
}

describe('the rate budget', () => {
  it('gives out at most burst + rate · time in any interval, whatever the wall clock does', async () => {
    await fc.assert(
      fc.asyncProperty(
        gaps,
        fc.integer({ min: 1, max: 20 }),
        fc.integer({ min: 1, max: 20 }),
        async (waits, burst, perSecond) => {
          const clock = new VirtualClock();
          const budget = new RateBudget(clock, { burst, perSecond });
          const taken: number[] = [];
          for (const [i, wait] of waits.entries()) {
            await clock.advance(wait);
            if (i % 7 === 0) clock.stepWall(3_600_000);
            if (budget.take('a') === undefined) taken.push(clock.monotonicMs());
          }
          for (const windowMs of [100, 1_000, 5_000])
            expect(busiest(taken, windowMs)).toBeLessThanOrEqual(burst + (perSecond * windowMs) / 1000 + 1e-6);
        },
      ),
      { numRuns: 50 },
    );
  });

  it('says how long to wait, and means it', async () => {
    const clock = new VirtualClock();
    const budget = new RateBudget(clock, { burst: 1, perSecond: 4 });
    expect(budget.take('a')).toBeUndefined();
    const waitMs = budget.take('a') ?? 0;
    await clock.advance(waitMs - 1);
    expect(budget.take('a')).toBeGreaterThan(0);
    await clock.advance(1);
    expect(budget.take('a')).toBeUndefined();
    expect(budget.take('b')).toBeUndefined();
  });
});

describe('a bucket that several processes share', () => {
  const whole = { perSecond: 5, burst: 20 };

  it('gives them no more than the whole together, and the least where a part is very small', async () => {
    await fc.assert(
      fc.asyncProperty(
        gaps,
        fc.array(fc.integer({ min: 0, max: 16 }), { minLength: 1, maxLength: 6 }),
        async (waits, held) => {
          const clock = new VirtualClock();
          const all = held.reduce((sum, each) => sum + each, 0) || 1;
          const buckets = held.map((each) => new TokenBucket(clock, whole, () => each / all));
          const taken: number[] = [];
          for (const wait of waits) {
            await clock.advance(wait);
            for (const bucket of buckets) while (bucket.take()) taken.push(clock.monotonicMs());
          }
          const least = held.length * (2 + 0.2 * 5);
          expect(busiest(taken, 5_000)).toBeLessThanOrEqual(whole.burst + whole.perSecond * 5 + least);
          for (const bucket of buckets) expect(bucket.waitMs()).toBeLessThanOrEqual(5_000);
        },
      ),
      { numRuns: 50 },
    );
  });

  it('follows a part that changes at once, and keeps no debt of the larger one', async () => {
    const clock = new VirtualClock();
    let part = 1;
    const bucket = new TokenBucket(clock, whole, () => part);
    expect(bucket.remaining).toBe(20);
    part = 0.25;
    expect(bucket.remaining).toBe(5);
    part = 1;
    await clock.advance(1_000);
    expect(bucket.remaining).toBe(10);
    for (let i = 0; i < 1_000; i += 1) bucket.owe();
    part = 0.25;
    expect(bucket.waitMs()).toBeLessThanOrEqual(61_000);
  });
});

describe('the breaker', () => {
  it('trips at count within the window, and never below it', async () => {
    await fc.assert(
      fc.asyncProperty(gaps, fc.integer({ min: 2, max: 12 }), async (waits, count) => {
        const clock = new VirtualClock();
        const windowMs = 1_000;
        const breaker = new RateBreaker(clock, { count, windowMs });
        const times: number[] = [];
        for (const wait of waits) {
          await clock.advance(wait);
          times.push(clock.monotonicMs());
          const tripped = breaker.count('a');
          const recent = (ms: number) => times.filter((at) => at > clock.monotonicMs() - ms).length;
          if (recent(windowMs * 0.95) >= count) expect(tripped).toBe(true);
          if (recent(windowMs * 1.05) < count) expect(tripped).toBe(false);
        }
      }),
      { numRuns: 50 },
    );
  });

  it('counts each account for itself', () => {
    const breaker = new RateBreaker(new VirtualClock(), { count: 2, windowMs: 1_000 });
    expect([breaker.count('a'), breaker.count('b'), breaker.count('a')]).toEqual([false, false, true]);
  });
});

describe('the schedule of probes', () => {
  it('always lies ahead, a minute to half an hour apart once two minutes have passed', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1e10, noNaN: true }), (ageMs) => {
        const { atMs, kind } = nextProbe(ageMs);
        expect(atMs).toBeGreaterThan(ageMs);
        if (ageMs >= 2_000) expect(kind).toBe('account');
        if (ageMs < 120_000) return;
        expect(atMs - ageMs).toBeGreaterThanOrEqual(60_000 - 1);
        expect(atMs - ageMs).toBeLessThanOrEqual(30 * 60_000 + 1);
      }),
    );
  });
});
