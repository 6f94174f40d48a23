import { describe, expect, it } from 'vitest';
import { catchBug } from '../simulation/planted/catch-bug.ts';
import { plantedBugs } from '../simulation/planted/planted-bugs.ts';

/**
 * Other seeds than those in planted-bugs-picked-seeds.deep.ts: a bug is to be caught by the kind of
 * run, not by one lucky number.
 */
const from = 50_001;
const most = 500;

describe('from seeds that nobody has picked, the simulator notices when', () => {
  it.each(plantedBugs.map((bug) => [bug.name, bug] as const))('%s', async (_, bug) => {
    // A patient run takes a second, one in which shards move as long as ten others, and some bugs
    // show in one seed of hundreds: those are looked for where they are known to show.
    const isRare = bug.seeds === 'patient' || bug.moves === true || (bug.seed ?? 0) > most;
    const first = isRare ? (bug.seed ?? from) : from;
    expect(await catchBug(bug, most, first)).toMatchObject({ failure: expect.stringMatching(bug.shows) });
  });
});
