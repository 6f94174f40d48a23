import { describe, expect, it } from 'vitest';
import { failuresOf, range } from '../simulation/oracles/failures-of.ts';

// Two files, so that both workers have one of them. Behind those of `npm test`, and as many as CI
// has time for on a slow day: a seed takes 0.3 s of processor time. `npm run simulate -- --from 1
// --count 20000` runs more.
const from = 101;
const perTest = 525;

describe('over 2,100 further seeds, the first half, the service', () => {
  it.each(range(0, 2).map((i) => [from + i * perTest, from + (i + 1) * perTest - 1]))(
    'keeps every promise and agrees with the platform once it is healed, seeds %i to %i',
    async (first) => {
      expect(await failuresOf(range(first, perTest))).toEqual([]);
    },
  );
});
