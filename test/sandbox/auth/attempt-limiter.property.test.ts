import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AttemptLimiter } from '../../../src/sandbox/auth/sign-ins.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

describe('the bound on guessing', () => {
  it('lets at most its burst and one in each interval through, whatever the pauses are', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 5_000 }), { maxLength: 80 }), async (pauses) => {
        const clock = new VirtualClock();
        const limiter = new AttemptLimiter({ clock }, { burst: 3, everyMs: 1_000 });
        const beganMs = clock.monotonicMs();
        let looked = 0;
        for (const pauseMs of pauses) {
          await clock.advance(pauseMs);
          if (limiter.waitMs('alice') > 0) continue;
          looked += 1;
          limiter.failed('alice');
          expect(looked).toBeLessThanOrEqual(3 + Math.floor((clock.monotonicMs() - beganMs) / 1_000));
        }
      }),
      { numRuns: 100 },
    );
  });

  it('is cleared by a right answer, and counts each name by itself', () => {
    const limiter = new AttemptLimiter({ clock: new VirtualClock() }, { burst: 2, everyMs: 1_000 });
    limiter.failed('alice');
    limiter.failed('alice');
    expect(limiter.waitMs('alice')).toBe(1_000);
    expect(limiter.waitMs('bob')).toBe(0);
    limiter.succeeded('alice');
    expect(limiter.waitMs('alice')).toBe(0);
  });
});
