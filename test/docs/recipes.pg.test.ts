import { expect, it } from 'vitest';
import { createPool } from '../../src/store/session/pool.ts';
import { provenBatches } from '../support/orders/proven-batches.ts';
import { recipe } from '../support/runs/recipe.ts';
import { testLog } from '../support/runs/test-log.ts';
import { freshDatabase } from '../support/servers/database.ts';

const [ordersTable = '', ordersSink = '', updatesTables = '', updatesSink = '', proofsSink = '', judge = ''] =
  recipe('Postgres');

async function ownDatabase() {
  const stack = new AsyncDisposableStack();
  const { url } = stack.use(await freshDatabase());
  const pool = createPool({ log: testLog }, { url, applicationName: 'recipe', maxConnections: 2 });
  stack.defer(() => pool.end());
  return { pool, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

function values(batches: ReturnType<typeof provenBatches>, topic: 'updates' | 'watermarks'): string[] {
  return batches.flatMap(({ rows }) => rows.flatMap((row) => (row.topic === topic ? [row.payload] : [])));
}

it('the sink of the recipe for Postgres keeps the newest state of each order, whatever comes twice, late or in any order', async () => {
  await using database = await ownDatabase();
  await database.pool.query(ordersTable);
  const updates = [...values(provenBatches(30), 'updates'), ...values(provenBatches(3, { generation: 2 }), 'updates')];
  // Newest first, then oldest first: each state comes late once, and twice within one call.
  const foreign = ['[]', '7', '{}', '{"schema":"another.v1","stream":"account","orderId":"o"}'];
  for (const call of [updates.slice(-20), updates.toReversed(), [...foreign, ...updates, ...updates]])
    await database.pool.query(ordersSink, [call]);
  const { rows } = await database.pool.query<{ order_id: string; version: string; cum_qty: string; record: unknown }>(
    `select order_id, generation || '.' || revision as version, cum_qty, record from tidemark_orders order by order_id collate "C"`,
  );
  const newest = new Map(
    updates.map((value) => [(JSON.parse(value) as { orderId: string }).orderId, JSON.parse(value)]),
  );
  expect(rows).toEqual(
    [...newest]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([orderId, record]) => ({
        order_id: orderId,
        version: `${record.generation}.${record.revision}`,
        cum_qty: record.order.cumQty,
        record,
      })),
  );
  expect(rows.length).toBeGreaterThan(10);
});

it('the query of the recipe for Postgres names each update that is missing or changed, and each proof', async () => {
  await using database = await ownDatabase();
  const { pool } = database;
  await pool.query(updatesTables);
  const batches = provenBatches(20);
  const updates = values(batches, 'updates');
  await pool.query(updatesSink, [['[]', '{}', ...updates, ...updates.toReversed()]]);
  await pool.query(proofsSink, [[...values(batches, 'watermarks'), '{"event":"live"}']]);
  expect((await pool.query(judge)).rows).toEqual([]);
  await pool.query('delete from tidemark_updates where batch = 7 and order_id like $1', ['%-0']);
  await pool.query(
    `update tidemark_updates set value = replace(value, '"quantity":"9"', '"quantity":"8"') where batch = 11`,
  );
  await pool.query('delete from tidemark_proofs where up_to = 15');
  const { rows } = await pool.query(judge);
  expect(rows.map(({ up_to, wanted, here, lacks_proof_before }) => [up_to, wanted, here, lacks_proof_before])).toEqual([
    ['7', '2', '1', false],
    ['11', '2', '2', false],
    ['16', '2', '2', true],
  ]);
});
