import { describe, expect, it } from 'vitest';
import { failuresOf, range } from '../simulation/oracles/failures-of.ts';

// Two files, so that both workers have one of them.
const from = 1;
const perTest = 500;

describe('over 20,000 seeds, the first half, the service', () => {
  it.each(range(0, 20).map((i) => [from + i * perTest, from + (i + 1) * perTest - 1]))(
    'keeps every promise and agrees with the platform once it is healed, seeds %i to %i',
    async (first) => {
      expect(await failuresOf(range(first, perTest))).toEqual([]);
    },
  );
});
