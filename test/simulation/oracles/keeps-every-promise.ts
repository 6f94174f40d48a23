import { describe, expect, it } from 'vitest';
import { failuresOf, range } from './failures-of.ts';

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
        expect(await failuresOf(range(first, perTest))).toEqual([]);
      },
      limitMs,
    );
  });
}
