import { describe, expect, it } from 'vitest';
import { catchBug } from '../simulation/planted/catch-bug.ts';
import { plantedBugs } from '../simulation/planted/planted-bugs.ts';

/** Far more than any of them needs: the slowest is caught by the 65th. */
const most = 200;

describe('the simulator notices when', () => {
  it.each(plantedBugs.map((bug) => [bug.name, bug] as const))(
    '%s',
    async (_, bug) => {
      expect(await catchBug(bug, most, bug.seed)).toMatchObject({ failure: expect.stringMatching(bug.shows) });
    },
    300_000,
  );
});
