// What a user saw: Consumers dropped the first updates after a failover.

import { expect, it } from 'vitest';
import { PostgresOutcomeLog } from '../../../src/store/commands/outcome-log.ts';
import { createPostgresJournal } from '../../../src/store/commands/postgres-journal.ts';
import type { LaneStore } from '../../../src/store/fleet/lane-store.ts';
import { fence, newPlace } from '../../support/commands/journal-fixtures.ts';
import { batch, storeRig, update } from '../../support/orders/store-rig.ts';

const proof = '"proof":{"lane":0,"generation":1,"after":"0","upTo":"1","count":1,"hash":"07d4a1c9e35b"}';
/** Kafka has batch 9 of a process that is gone. */
const lost = { lane: 0, generation: 1, epoch: 0n, batch: 9n, acts: [] };
const payload = (orderId: string, revision: number) =>
  `{"eventId":"prediction:${orderId}:${revision}","generation":1,"order":"${orderId}"}`;

async function nextTerm(lanes: LaneStore): Promise<bigint> {
  const taken = await lanes.acquire(0, 'first', 6_000);
  if (taken.kind !== 'held') throw new Error('the lane is not ours');
  return taken.epoch;
}

// They went out in the generation in which Kafka had these revisions with other
// content, and every consumer dropped them.
it('what a lane committed before Kafka could be asked goes out under the generation that the answer begins', async () => {
  await using rig = await storeRig();
  const write = (epoch: bigint, number: number, orderId: string, revision: number) =>
    rig.store.applyBatch(
      batch(epoch, number, [[orderId, revision]], {
        updates: [
          update(orderId, revision, { payload: payload(orderId, revision) }),
          update(`mark-${number}`, 1, { stream: 'continuity', payload: `{"event":"heartbeat",${proof}}` }),
        ],
      }),
    );
  await write(rig.epoch, 1, 'o1', 1);
  await rig.lanes.noticeLoss(0, [], rig.epoch);
  // A term begins behind batch 1.
  const epoch = await nextTerm(rig.lanes);
  await write(epoch, 2, 'o1', 2);
  expect(await rig.lanes.noticeLoss(0, [lost], epoch)).toEqual({ generation: 2 });
  expect(await rig.rows('select payload from order_updates order by seq')).toEqual([
    { payload: payload('o1', 1) },
    { payload: `{"event":"heartbeat",${proof}}` },
    { payload: payload('o1', 2).replace('"generation":1', '"generation":2') },
    { payload: '{"event":"heartbeat"}' },
  ]);
  const [first] = await rig.rows<{ seq: string }>('select max(seq) as seq from order_updates where batch = 1');
  expect(await rig.rows("select seq from relay_positions where lane = 0 and cursor = 'state'")).toEqual([first]);
});

it('is found from the end of the lane: the log behind it is not read', async () => {
  await using rig = await storeRig();
  await rig.pool.query(
    `insert into order_updates (lane, batch, stream, order_id, account_id, revision, payload)
     select 0, 1, 'prediction', 'o-' || n, 'a', 1, '{"generation":1}' from generate_series(1, 20000) n`,
  );
  await rig.pool.query('update lane_batches set batch = 1 where lane = 0');
  await rig.pool.query(
    'insert into lane_batches (lane, batch) select 0, 1 where not exists (select from lane_batches where lane = 0)',
  );
  await rig.lanes.noticeLoss(0, [], rig.epoch);
  const epoch = await nextTerm(rig.lanes);
  const updates = [update('o1', 1, { payload: payload('o1', 1) })];
  await rig.store.applyBatch(batch(epoch, 2, [['o1', 1]], { updates }));
  const read = async () => {
    await rig.pool.query('select pg_stat_force_next_flush()');
    const [row] = await rig.rows<{ read: string }>(
      "select sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) as read from pg_stat_user_tables where relname like 'order_updates%'",
    );
    return Number(row?.read);
  };
  const before = await read();
  expect(await rig.lanes.noticeLoss(0, [lost], epoch)).toEqual({ generation: 2 });
  expect((await read()) - before).toBeLessThan(1_000);
  expect(
    await rig.rows('select count(*)::int as n from order_updates where payload like \'%"generation":2%\''),
  ).toEqual([{ n: 1 }]);
});

it('a step of a command names the generation in which it is told, from the second one on', async () => {
  await using rig = await storeRig();
  const journal = createPostgresJournal(rig.deps);
  const outcomes = new PostgresOutcomeLog(rig.deps);
  await rig.pool.query('update shards set lane = 0, epoch = 1 where shard = $1', [fence.shard]);
  await journal.takeOver(fence, 0, 0);
  await journal.open(newPlace(), fence);
  const told = async () =>
    (await outcomes.readUnpublished(10, [fence.shard])).map((row) => JSON.parse(row.payload).generation);
  expect(await told()).toEqual([undefined]);
  await rig.pool.query('update lanes set generation = 3');
  expect(await told()).toEqual([3]);
});
