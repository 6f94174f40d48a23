import type { Pool } from 'pg';
import { expect } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { systemRandom } from '../../../src/runtime/random.ts';
import type { AccountScope, OrderFilter, OrderSort } from '../../../src/store/orders/order-reads.ts';
import type { Batch } from '../../../src/store/orders/order-store.ts';
import { postgresOrderReads } from '../../../src/store/rest-reads.ts';
import { createReadPool } from '../../../src/store/session/pool.ts';
import { journalRig } from '../commands/journal-rig.ts';
import { testLog } from '../runs/test-log.ts';
import { batch, type StoreRigOptions } from './store-rig.ts';
import { type StoredOrderSpec, storedOrder } from './stored-orders.ts';

export const all: AccountScope = { kind: 'all' };
export const only = (...accountIds: string[]): AccountScope => ({ kind: 'accounts', accountIds });

export interface Asked {
  readonly text: string;
  readonly values: readonly unknown[];
}

/**
 * REST's reads beside the stores that write what they read.
 * `queries`: what they asked the database, in order.
 */
export async function readRig(options: StoreRigOptions = {}) {
  const stack = new AsyncDisposableStack();
  const rig = stack.use(await journalRig(options));
  const pool = createReadPool(
    { log: testLog },
    { url: rig.database.url, applicationName: 'test-reads', maxConnections: 2 },
  );
  stack.defer(() => pool.end());
  const queries: Asked[] = [];
  const counting: Pool = Object.create(pool, {
    query: {
      value: (statement: string | Asked, values: unknown[] = []) => {
        queries.push(typeof statement === 'string' ? { text: statement, values } : statement);
        return pool.query(statement as string, values.length > 0 ? values : undefined);
      },
    },
  });
  const reads = postgresOrderReads({ pool: counting, clock: systemClock, random: systemRandom });
  let number = 0;
  const commit = async (over: Partial<Batch>) => {
    number += 1;
    expect((await rig.store.applyBatch(batch(rig.epoch, number, [], over))).kind).toBe('committed');
  };
  return {
    ...rig,
    reads,
    queries,
    readPool: pool,
    async store(...specs: StoredOrderSpec[]): Promise<void> {
      const rows = specs.map(storedOrder);
      await commit({ heads: rows.map((row) => row.head), updates: rows.map((row) => row.update) });
    },
    commit,
    /** All pages, one after the other. */
    async ids(scope: AccountScope, filter: OrderFilter, limit: number, sort: OrderSort = 'orderId'): Promise<string[]> {
      const ids: string[] = [];
      let after: readonly string[] | undefined;
      for (let pages = 0; pages < 1_000; pages += 1) {
        const page = await reads.listOrders(scope, filter, after, limit, sort);
        expect(page.items.length).toBeLessThanOrEqual(limit);
        ids.push(...page.items.map((item) => `${item.stream}:${item.orderId}`));
        if (page.next === undefined) return ids;
        after = page.next;
      }
      throw new Error('the pages have no end');
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
