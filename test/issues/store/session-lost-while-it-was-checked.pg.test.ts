// What a user saw: The whole process ended when one database connection broke just after it was opened.

import { expect, it } from 'vitest';
import { createPool } from '../../../src/store/session/pool.ts';
import { proxiedUrl, storeRig } from '../../support/orders/store-rig.ts';
import { testLog } from '../../support/runs/test-log.ts';

it.each(['toTarget', 'toClient'] as const)(
  'a session that breaks under its first question (%s) ends no process',
  async (way) => {
    await using rig = await storeRig();
    const { proxy, database } = rig;
    const pool = createPool(
      { log: testLog },
      { url: proxiedUrl(database.url, proxy), applicationName: 'checked', maxConnections: 1 },
    );
    const uncaught: Error[] = [];
    const keep = (error: Error) => uncaught.push(error);
    process.on('uncaughtException', keep);
    try {
      proxy.tap = (chunk) => {
        if (chunk.includes('pg_is_in_recovery')) proxy.behave({ kind: 'after', bytes: 0, ending: 'reset' }, way);
      };
      await expect(pool.query('select 1')).rejects.toThrow();
      proxy.tap = () => undefined;
      proxy.behave({ kind: 'pass' });
      expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
      expect(uncaught).toEqual([]);
    } finally {
      process.off('uncaughtException', keep);
      await pool.end();
    }
  },
);
