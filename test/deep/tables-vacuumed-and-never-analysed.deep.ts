// What a user saw: `tidemark replay` of a large log ended with a statement timeout after an autovacuum.

import type { Pool } from 'pg';
import { expect, it } from 'vitest';
import { auditOrders } from '../../src/store/commands/audit-reads.ts';
import { readLogSlice } from '../../src/store/orders/read-log-slice.ts';
import { createPool } from '../../src/store/session/pool.ts';
import { testLog } from '../support/runs/test-log.ts';
import { freshDatabase } from '../support/servers/database.ts';

interface PlanNode {
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly PlanNode[];
}

/** Rows of the table that a plan read, parallel workers added up. */
function readBy(node: PlanNode, table: RegExp): number {
  const below = (node.Plans ?? []).reduce((sum, each) => sum + readBy(each, table), 0);
  if (!table.test(node['Relation Name'] ?? '')) return below;
  return below + (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'];
}

const orders = 30_000;

/**
 * A log of 60,000 rows of 30,000 orders as a bulk load leaves them: vacuumed, which counts the
 * rows, and not analysed, so that nothing is known of what is in them.
 */
async function bulkLoaded() {
  const stack = new AsyncDisposableStack();
  const database = stack.use(await freshDatabase());
  const pool = createPool({ log: testLog }, { url: database.url, applicationName: 'test', maxConnections: 2 });
  stack.defer(() => pool.end());
  await pool.query(
    'alter table order_updates_1 set (autovacuum_enabled = false); alter table orders set (autovacuum_enabled = false)',
  );
  await pool.query('insert into lanes (lane, epoch, renewed_at) values (0, 1, now())');
  await pool.query(`insert into order_updates (seq, lane, batch, stream, order_id, account_id, revision, payload, before_seq, before_lane)
    select (r - 1) * ${orders} + o, 0, 1, 'account', 'o-' || o, 'A', r, '{}', case r when 2 then o end, case r when 2 then 0 end from generate_series(1, 2) r, generate_series(1, ${orders}) o order by 1`);
  await pool.query(`insert into orders (stream, order_id, lane, account_id, symbol, status, revision, seq, join_state)
    select 'account', 'o-' || o, 0, 'A', 'S', 'new', 2, ${orders} + o, '{}' from generate_series(1, ${orders}) o`);
  await pool.query('vacuum order_updates_1');
  await pool.query('vacuum orders');
  const plans: PlanNode[] = [];
  // Each statement is explained as it is asked, with the very values.
  const explaining = {
    query: async (text: string, values: unknown[]) => {
      const { rows } = await pool.query(`explain (analyze, format json) ${text}`, values);
      plans.push(rows[0]['QUERY PLAN'][0].Plan);
      return pool.query(text, values);
    },
  } as unknown as Pool;
  return { pool: explaining, plans, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

// Found by a replay of a million rows: the second after autovacuum had been there each read of
// 5,000 rows read and sorted the 740,000 behind it, over the deadline of a statement.
it('replay reads some thousand rows at a time of a log that was never analysed', async () => {
  await using world = await bulkLoaded();
  const { rows, lastSeq } = await readLogSlice(world.pool, {}, 1_000n, 50_000n);
  expect([rows.length, rows.at(-1)?.seq, lastSeq]).toEqual([5_000, 6_000n, 6_000n]);
  expect(readBy(world.plans[0] as PlanNode, /^order_updates/)).toBeLessThanOrEqual(5_000);
});

it('replay stops at its upper bound, in the middle of what it reads', async () => {
  await using world = await bulkLoaded();
  const { rows, lastSeq } = await readLogSlice(world.pool, {}, 1_000n, 1_002n);
  expect([rows.map(({ seq }) => seq), lastSeq]).toEqual([[1_001n, 1_002n], 1_002n]);
});

// Found by an audit of 200,000 orders: each page of 1,000 read all of them, in three processes.
it('audit reads a page of orders at a time of tables that were never analysed', async () => {
  await using world = await bulkLoaded();
  let seen = 0;
  for await (const { holes, newest } of auditOrders(world.pool)) {
    seen += 1;
    expect([holes, newest?.revision]).toEqual([0, 2]);
  }
  expect(seen).toBe(orders);
  for (const plan of world.plans) expect(readBy(plan, /^orders$/)).toBeLessThanOrEqual(1_000);
});
