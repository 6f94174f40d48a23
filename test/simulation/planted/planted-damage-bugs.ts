import { type Head, isUnreadable, type UnreadableHead } from '../../../src/domain/head.ts';
import type { PlantedBug } from './planted-bug.ts';
import { instead } from './replaced.ts';

type Heads = Map<string, Head | UnreadableHead>;

/** Processes that see the heads as `seen` makes them. */
function withHeads(seen: (heads: Heads) => Heads): NonNullable<PlantedBug['deps']> {
  return ({ database }) => ({
    database: {
      ...database,
      orders: instead(database.orders, {
        readHeads: async (keys) => seen(await database.orders.readHeads(keys)),
      }),
    },
  });
}

/** Mistakes with a stored state that can't be read. */
export const plantedDamageBugs: readonly PlantedBug[] = [
  {
    name: 'a state that cannot be read is taken for a database that is away',
    seed: 2,
    seeds: 'damaging',
    shows: /not healed/,
    deps: withHeads((heads) => {
      if ([...heads.values()].some(isUnreadable)) JSON.parse('');
      return heads;
    }),
  },
  {
    name: 'an order whose state cannot be read is taken for a new one',
    seed: 2,
    seeds: 'damaging',
    shows: /takes a stored order for new again/,
    deps: withHeads((heads) => new Map([...heads].filter(([, head]) => !isUnreadable(head)))),
  },
  {
    name: 'a state that cannot be read begins again below its version',
    seed: 6,
    seeds: 'damaging',
    shows: /begins again at version .* below|goes from version/,
    deps: withHeads(
      (heads) =>
        new Map<string, Head | UnreadableHead>(
          [...heads].map(([key, head]) => {
            if (!isUnreadable(head)) return [key, head];
            const { sourceVersion: _, ...rest } = head;
            return [key, rest];
          }),
        ),
    ),
  },
];
