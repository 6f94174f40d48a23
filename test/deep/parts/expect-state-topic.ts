import { expect } from 'vitest';
import { eventually } from '../../support/runs/poll.ts';
import type { World } from '../../support/runs/service-under-test.ts';
import { readAll } from '../../support/servers/kafka-fixture.ts';

/**
 * A late repeat would survive compaction: on the state topic, an order's revisions only rise,
 * whoever writes, and end at the stored one.
 */
export function expectStateTopicWhole(world: World): Promise<void> {
  return eventually(
    async () => {
      const newest = new Map<string, number>();
      for (const { key, value = '{}' } of await readAll(world.brokers, world.topics.state)) {
        const { revision } = JSON.parse(value) as { revision: number };
        if (revision < (newest.get(key) ?? 0))
          throw new FallenError(`${key} fell to revision ${revision} on the state topic`);
        newest.set(key, revision);
      }
      const stored = await world.query<{ key: string; revision: number }>(
        `select stream || ':' || order_id as key, revision::int from orders`,
      );
      expect(stored.filter(({ key, revision }) => newest.get(key) !== revision)).toEqual([]);
    },
    { everyMs: 500, giveUp: (error) => error instanceof FallenError },
  );
}

class FallenError extends Error {}
