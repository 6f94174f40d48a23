import { describe, expect, it } from 'vitest';
import type { RunResult } from '../run-seed.ts';
import { failuresIn, range, runSeeds } from './failures-of.ts';

/** Seeds 1 to this run with every `npm test`. */
export const seedsOfEachRun = 100;
const perTest = seedsOfEachRun / 4;
const limitMs = 300_000;

/** The tests of half of them. `npm run test:deep` has more, and `npm run simulate` any others. */
export function keepsEveryPromise(from: number): void {
  describe('the service, whatever goes wrong around it,', () => {
    it.each(range(0, 2).map((i) => [from + i * perTest, from + (i + 1) * perTest - 1]))(
      'keeps every promise and agrees with the platform once it is healed, seeds %i to %i',
      async (first) => {
        const results = await runSeeds(range(first, perTest));
        expect(failuresIn(results)).toEqual([]);
        triesEnough(results);
      },
      limitMs,
    );
  });
}

/** A world at rest keeps every promise: orders change, processes come and go, the lane moves. */
function triesEnough(results: readonly RunResult[]): void {
  const total = (of: (result: RunResult) => number) => results.reduce((sum, result) => sum + of(result), 0);
  expect(total(({ updates }) => updates)).toBeGreaterThan(1_500);
  expect(total(({ processes }) => processes)).toBeGreaterThan(25);
  expect(total(({ terms }) => terms)).toBeGreaterThan(25);
  expect(total(({ commands }) => commands)).toBeGreaterThan(100);
  expect(total(({ writes }) => writes)).toBeGreaterThan(75);
}
