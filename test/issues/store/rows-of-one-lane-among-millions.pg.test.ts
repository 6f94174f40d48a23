// What a user saw: A lane that came back read all rows of the other lanes before it could publish its own.

import type { Pool } from 'pg';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { systemRandom } from '../../../src/runtime/random.ts';
import { maintainLog } from '../../../src/store/maintenance.ts';
import { PostgresUpdateLog } from '../../../src/store/orders/update-log.ts';
import { batch, head, storeRig, update } from '../../support/orders/store-rig.ts';

interface PlanNode {
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Join Filter'?: number;
  readonly 'Shared Hit Blocks': number;
  readonly 'Shared Read Blocks': number;
  readonly Plans?: readonly PlanNode[];
}

/** Rows of the log that a plan read. */
function logRowsOf(node: PlanNode): number {
  const below = (node.Plans ?? []).reduce((sum, each) => sum + logRowsOf(each), 0);
  if (!/^order_updates/.test(node['Relation Name'] ?? '')) return below;
  return below + (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'];
}

const others = 30_000;

/**
 * A row of lane 0, then many of lane 1, then another row of lane
 * 0; in partitions that were never analysed.
 */
async function lanesOfOneLog() {
  const rig = await storeRig();
  await rig.pool.query('alter table order_updates_1 set (autovacuum_enabled = false)');
  await rig.lanes.acquire(1, 'other', 6_000);
  await rig.store.applyBatch(batch(rig.epoch, 1, [['mine', 1]]));
  await rig.pool.query(
    `insert into order_updates (lane, batch, stream, order_id, account_id, revision, payload)
     select 1, n, 'prediction', 'o-' || n, 'a', 1, rpad('', 500, 'x') from generate_series(1, ${others}) n`,
  );
  await rig.store.applyBatch(batch(rig.epoch, 2, [['mine', 2]]));
  const read: { rows: number; blocks: number }[] = [];
  const explaining = {
    query: async (text: string, values: unknown[]) => {
      const { rows } = await rig.pool.query(`explain (analyze, buffers, format json) ${text}`, values);
      const plan: PlanNode = rows[0]['QUERY PLAN'][0].Plan;
      read.push({ rows: logRowsOf(plan), blocks: plan['Shared Hit Blocks'] + plan['Shared Read Blocks'] });
      return rig.pool.query(text, values);
    },
  } as unknown as Pool;
  const log = new PostgresUpdateLog({ pool: explaining, clock: systemClock, random: systemRandom });
  return Object.assign(rig, { log, read });
}

describe('a lane that was away while another one wrote', () => {
  it('reads its own rows, and none of the other lane', async () => {
    await using rig = await lanesOfOneLog();
    const rows = await rig.log.readAfter(0, 1n, 1_000);
    expect(rows.map(({ payload }) => payload)).toEqual(['{"order":"mine/2"}']);
    expect((await rig.log.readNewestAfter(0, 1n, 1_000, 1e6)).rows).toHaveLength(1);
    expect(await rig.log.pendingAfter(0, 1n)).toMatchObject({ rows: 1 });
    expect(rig.read).toHaveLength(3);
    for (const { rows, blocks } of rig.read) {
      expect(rows).toBeLessThan(10);
      // Entries of an index that are passed over are no rows: 30,000 of
      // the other lane are more than 100 blocks.
      expect(blocks).toBeLessThan(50);
    }
  });
});

// Two contents of one revision were committed: each partition has a unique index of its own, and
// nothing compared the revision before.
it('an account that two lanes follow by mistake is refused to the second, also in another partition', async () => {
  await using rig = await storeRig();
  const other = await rig.lanes.acquire(1, 'second', 6_000);
  const put = async (lane: number, epoch: bigint, number: number, revision: number, payload: string) => {
    const heads = [head('X', revision, { state: JSON.stringify({ payload }) })];
    return rig.store.applyBatch(
      batch(epoch, number, [], { lane, heads, updates: [update('X', revision, { payload })] }),
    );
  };
  expect((await put(0, rig.epoch, 1, 1, 'r1 of lane 0')).kind).toBe('committed');
  expect((await put(0, rig.epoch, 2, 2, 'r2 of lane 0')).kind).toBe('committed');
  await rig.pool.query("select setval('order_updates_seq', 5000001)");
  expect(await put(1, other.epoch, 1, 2, 'r2 of lane 1')).toEqual({ kind: 'retry', code: 'TM003' });
  expect(await put(1, other.epoch, 1, 1, 'r1 of lane 1'), 'as if it were new').toEqual({
    kind: 'retry',
    code: 'TM003',
  });
  const several = { lane: 1, heads: [head('X', 3, { reducedFrom: 1 })], updates: [update('X', 2), update('X', 3)] };
  expect(await rig.store.applyBatch(batch(other.epoch, 1, [], several)), 'higher, from an old one').toEqual({
    kind: 'retry',
    code: 'TM003',
  });
  expect((await put(1, other.epoch, 1, 3, 'r3 of lane 1')).kind, 'once it has read what is stored').toBe('committed');
  expect(await rig.rows("select payload from order_updates where order_id = 'X' order by revision")).toEqual([
    { payload: 'r1 of lane 0' },
    { payload: 'r2 of lane 0' },
    { payload: 'r3 of lane 1' },
  ]);
});

// Each round waited 250 ms for a lock that a backup keeps until its end,
// and every batch queued behind that wait.
it('a partition that is due waits for a backup to end, and no batch waits for the partition', async () => {
  await using rig = await storeRig();
  const log = new PostgresUpdateLog(rig.deps);
  await rig.store.applyBatch(batch(rig.epoch, 1, [['a', 1]]));
  await rig.pool.query("select setval('order_updates_seq', 12000000)");
  for (const cursor of ['log', 'state'] as const) await log.savePosition(0, rig.epoch, cursor, 1n);
  const backup = await rig.rival();
  await backup.query('begin');
  await backup.query('select count(*) from order_updates');
  const waits = `select count(*)::int as waits from pg_locks where relation = 'order_updates'::regclass and not granted`;
  const maintaining = maintainLog(rig.pool, { partitionRows: 1_000, retentionMs: 0 });
  let waited = 0;
  let over = false;
  void maintaining.finally(() => {
    over = true;
  });
  while (!over) waited += (await rig.rows<{ waits: number }>(waits))[0]?.waits ?? 0;
  expect((await maintaining).dropped).toEqual([]);
  expect(waited).toBe(0);
  await backup.query('rollback');
  expect((await maintainLog(rig.pool, { partitionRows: 1_000, retentionMs: 0 })).dropped).toHaveLength(2);
});
