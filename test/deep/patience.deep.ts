import { describe, expect, it } from 'vitest';
import { failuresOf, range } from '../simulation/oracles/failures-of.ts';

/**
 * Runs of a quarter of an hour, in which what never arrived is presumed
 * absent and some of it arrives after all.
 */
describe('with patience, the service', () => {
  it.each(range(0, 2).map((i) => [30_001 + i * 50, 30_050 + i * 50]))(
    'keeps every promise, seeds %i to %i',
    async (first) => {
      expect(await failuresOf(range(first, 50), { patient: true })).toEqual([]);
    },
  );
});
