import { describe, expect, it } from 'vitest';
import { failuresOf, range } from '../simulation/oracles/failures-of.ts';
import type { CommandWishes } from '../simulation/plan/command-plan.ts';

// What only some kinds of runs hold, without any planted bug. Few of those that are long: a run of
// shards that move takes as long as ten others.
const kinds: readonly (readonly [string, CommandWishes, number])[] = [
  ['the database loses commits that nobody alive has seen', { hiding: true }, 60],
  ['the same, and Kafka is away for those who go on', { stranding: true }, 60],
  ['people halt beside a loss of commits', { forgetting: true }, 120],
  ['people halt at one process while another one places', { leaking: true }, 30],
  ['owners cancel what we cancel', { contesting: true }, 30],
  ['the platform does what no document says', { odd: true }, 80],
  ['the platform gives ids of ended orders again', { reusing: true }, 80],
  ["the platform's clock is set back", { setback: true }, 80],
  ['the stored states of some orders are lost', { damaging: true }, 80],
  ['the database loses its last commits', { losing: true }, 120],
  ['Alpaca is followed beside, and is away for long', { beside: true }, 60],
  ['the platform is followed beside Alpaca, and is away for long', { venue: 'alpaca', beside: true }, 60],
  ['shards change hands all the time', { moving: true }, 26],
  ['the venue is Alpaca', { venue: 'alpaca' }, 500],
  ['the venue is Alpaca, and callers cancel everything', { venue: 'alpaca', sweeping: true }, 60],
  ['the venue is Alpaca, and writes land late', { venue: 'alpaca', patient: true }, 30],
  ['the venue is Alpaca, and shards change hands', { venue: 'alpaca', moving: true }, 26],
  ['the venue is Alpaca, and commits are lost', { venue: 'alpaca', losing: true }, 60],
  ['the venue is Alpaca, takes ends back, and has a coarse clock', { venue: 'alpaca', odd: true }, 60],
];
const from = 30_001;

describe('the service keeps every promise where', () => {
  it.each(kinds)('%s', async (_, wishes, count) => {
    expect(await failuresOf(range(from, count), wishes)).toEqual([]);
  });
});
