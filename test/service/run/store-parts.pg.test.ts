import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { systemRandom } from '../../../src/runtime/random.ts';
import { storeParts } from '../../../src/service/run/store-parts.ts';
import { testLog } from '../../support/runs/test-log.ts';
import { freshDatabase } from '../../support/servers/database.ts';
import { onServer } from '../../support/servers/on-server.ts';

describe('issue: No order was stored while audits and other reads used all database connections.', () => {
  // Found by reading: a batch needs the heads of orders that are not cached, and read them from the
  // pool that serves audits and everybody else: with all of its connections busy the lane stood
  // still for as long as they were.
  it('reads the heads of a batch while every connection for other reads is busy', async () => {
    await using database = await freshDatabase();
    const parts = storeParts(
      { clock: systemClock, random: systemRandom, log: testLog },
      { url: database.url, poolSize: 2 },
    );
    try {
      await onServer(database.url, async (rival) => {
        await rival.query('select pg_advisory_lock(7)');
        let free = false;
        const wait = () => parts.pool.query('select pg_advisory_lock(7)').catch(() => undefined);
        const busy = Promise.all([wait(), wait()]).then(() => {
          free = true;
        });
        expect(await parts.orders.readHeads(['account:ord-1'])).toEqual(new Map());
        expect(free).toBe(false);
        await busy;
      });
    } finally {
      await parts.close();
    }
  });
});
