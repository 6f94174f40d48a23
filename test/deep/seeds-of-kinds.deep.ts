import { describe, expect, it } from 'vitest';
import { failuresOf, range } from '../simulation/oracles/failures-of.ts';
import type { CommandWishes } from '../simulation/plan/command-plan.ts';

// What only some kinds of runs hold, without any planted bug. Few of those that are long: a run of shards that move takes as long as ten others.
const kinds: readonly (readonly [string, CommandWishes, number])[] = [
  ['the database loses commits that nobody alive has seen', { hiding: true }, 150],
  ['people halt beside a loss of commits', { forgetting: true }, 300],
  ['people halt at one process while another one places', { leaking: true }, 60],
  ['owners cancel what we cancel', { contesting: true }, 60],
  ['the platform does what no document says', { odd: true }, 200],
  ['the database loses its last commits', { losing: true }, 200],
  ['shards change hands all the time', { moving: true }, 40],
];
const from = 30_001;

describe('the service keeps every promise where', () => {
  it.each(kinds)('%s', async (_, wishes, count) => {
    expect(await failuresOf(range(from, count), wishes)).toEqual([]);
  });
});
