import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Backoff } from '../../src/runtime/backoff.ts';
import { seededRandom } from '../../src/sandbox/seeded-random.ts';

const options = { firstMs: 100, maxMs: 5000 };

it('draws every delay from 0 up to the doubled step, and never above the cap', () => {
  fc.assert(
    fc.property(fc.integer(), fc.integer({ min: 1, max: 100 }), (seed, failures) => {
      const backoff = new Backoff(seededRandom(seed), options);
      for (let failure = 0; failure < failures; failure += 1) {
        const delayMs = backoff.nextMs();
        expect(delayMs).toBeGreaterThanOrEqual(0);
        expect(delayMs).toBeLessThan(Math.min(options.maxMs, options.firstMs * 2 ** failure) + Number.EPSILON);
      }
    }),
  );
});

it('uses the whole of the range: clients cut off together do not come back together', () => {
  const atMost = (fraction: number) => new Backoff({ next: () => fraction, uuid: () => '' }, options).nextMs();
  expect([atMost(0), atMost(0.5), atMost(0.999)]).toEqual([0, 50, 99.9]);
});

it('starts from the first step again after a success', () => {
  const backoff = new Backoff({ next: () => 0.5, uuid: () => '' }, options);
  expect([backoff.nextMs(), backoff.nextMs(), backoff.nextMs()]).toEqual([50, 100, 200]);
  backoff.reset();
  expect(backoff.nextMs()).toBe(50);
});
