// What a user saw: The database grew without end, because a lane that was used once kept the whole log.

import { expect, it } from 'vitest';
import { maintainLog } from '../../../src/store/maintenance.ts';
import { PostgresUpdateLog } from '../../../src/store/orders/update-log.ts';
import { batch, storeRig } from '../../support/orders/store-rig.ts';
import { eventually } from '../../support/runs/poll.ts';

/**
 * Two partitions of five million rows that the log has left behind, both cursors of lane 0 past
 * them, and a lane 1 that was held once.
 */
async function logOfTwoLanes() {
  const rig = await storeRig();
  const log = new PostgresUpdateLog(rig.deps);
  expect((await rig.store.applyBatch(batch(rig.epoch, 1, [['a', 1]]))).kind).toBe('committed');
  const tried = await rig.lanes.acquire(1, 'tried once', 6_000);
  await rig.pool.query("select setval('order_updates_seq', 12000000)");
  for (const cursor of ['log', 'state'] as const) await log.savePosition(0, rig.epoch, cursor, 1n);
  const epoch = tried.kind === 'held' ? tried.epoch : 0n;
  return Object.assign(rig, {
    maintain: () => maintainLog(rig.pool, { partitionRows: 1_000, retentionMs: 0 }),
    log,
    tried: epoch,
  });
}

it('a lane that was tried once, and has nothing left to publish, does not keep the log', async () => {
  await using rig = await logOfTwoLanes();
  expect((await rig.maintain()).dropped).toEqual(['order_updates_1', 'order_updates_5000001']);
});

it('a lane that left something unpublished keeps it', async () => {
  await using rig = await logOfTwoLanes();
  await rig.pool.query('update order_updates set lane = 1');
  expect((await rig.maintain()).dropped).toEqual([]);
  await rig.log.savePosition(1, rig.tried, 'log', 1n);
  expect((await rig.maintain()).dropped, 'the state topic lacks it still').toEqual([]);
  await rig.log.savePosition(1, rig.tried, 'state', 1n);
  expect((await rig.maintain()).dropped).toHaveLength(2);
});

it('what is written and not yet committed is waited for, and kept', async () => {
  await using rig = await logOfTwoLanes();
  const writer = await rig.rival();
  await writer.query('begin');
  await writer.query(
    "insert into order_updates (seq, lane, batch, stream, order_id, account_id, revision, payload) values (7, 1, 1, 'account', 'late', 'A', 1, '{}')",
  );
  expect((await rig.maintain()).dropped).toEqual([]);
  await writer.query('commit');
  await eventually(async () => {
    expect((await rig.maintain()).dropped).toEqual([]);
    expect(await rig.rows('select seq from order_updates where lane = 1')).toEqual([{ seq: '7' }]);
  });
});
