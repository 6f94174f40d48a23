// What a user saw: Changes of one process never reached consumers after a failover with Kafka away.

import { expect, it } from 'vitest';
import { batch, storeRig, update } from '../../support/orders/store-rig.ts';

/** Kafka has it of a process that is gone; no database with these lanes has it. */
const lost = { lane: 7, generation: 1, epoch: 1n, batch: 9n, acts: [] };

async function lanesRig() {
  const rig = await storeRig();
  const take = async (lane: number, holder: string) => {
    const taken = await rig.lanes.acquire(lane, holder, 6_000);
    if (taken.kind !== 'held') throw new Error(`lane ${lane} has another holder`);
    return taken.epoch;
  };
  const generations = async () => {
    const rows = await rig.rows<{ key: string; generation: string }>(
      `select lane || ' ' || order_id as key, substring(payload from '"generation":(\\d+)') as generation from order_updates order by seq`,
    );
    return Object.fromEntries(rows.map(({ key, generation }) => [key, Number(generation)]));
  };
  return {
    ...rig,
    generations,
    take,
    /** A batch of one new order. */
    async write(lane: number, epoch: bigint, number: number, orderId: string) {
      const payload = `{"eventId":"prediction:${orderId}:1","generation":1,"order":"${orderId}"}`;
      const updates = [update(orderId, 1, { payload })];
      const committed = await rig.store.applyBatch({ ...batch(epoch, number, [[orderId, 1]], { updates }), lane });
      expect(committed.kind).toBe('committed');
    },
    async unwritten(lane: number) {
      const cursor = "(select p.seq from relay_positions p where p.lane = $1 and p.cursor = 'state')";
      const rows = await rig.rows<{ order_id: string }>(
        `select order_id from order_updates where lane = $1 and seq > ${cursor} order by seq`,
        [lane],
      );
      return rows.map(({ order_id }) => order_id);
    },
  };
}

it('the rows that every lane committed before it could ask Kafka get the generation that one of them begins', async () => {
  await using rig = await lanesRig();
  const epochs = [rig.epoch, await rig.take(1, 'second'), await rig.take(2, 'third'), await rig.take(3, 'asked')];
  for (const [lane, epoch] of epochs.entries()) await rig.write(lane, epoch, 1, `a${lane}`);
  await rig.lanes.noticeLoss(3, [], epochs[3] ?? 0n);
  for (const [lane, epoch] of epochs.entries()) await rig.write(lane, epoch, 2, `b${lane}`);
  // The process of lane 2 is gone, that of lane 1 is alive, and lane 3 has published.
  expect(await rig.lanes.noticeLoss(0, [lost], rig.epoch)).toEqual({ generation: 2 });
  const unpublished = { '0 a0': 2, '0 b0': 2, '1 a1': 2, '1 b1': 2, '2 a2': 2, '2 b2': 2 };
  expect(await rig.generations()).toEqual({ ...unpublished, '3 a3': 1, '3 b3': 1 });
  for (const lane of [0, 1, 2]) expect(await rig.unwritten(lane)).toEqual([`a${lane}`, `b${lane}`]);
  expect(await rig.unwritten(3)).toEqual([]);
});

it('a process that asks Kafka behind the one that found the loss publishes nothing from its memory', async () => {
  await using rig = await lanesRig();
  const epoch = await rig.take(1, 'second');
  await rig.write(1, epoch, 1, 'a1');
  await rig.lanes.noticeLoss(0, [lost], rig.epoch);
  await expect(rig.lanes.noticeLoss(1, [lost], epoch)).rejects.toMatchObject({ code: 'TM001' });
  // Its next term begins under the new generation, and nothing is missing there.
  expect(await rig.lanes.noticeLoss(1, [lost], await rig.take(1, 'second'))).toBeUndefined();
});

it('a lane of a dead process has its rows under the new generation, whoever took it before Kafka was asked', async () => {
  await using rig = await lanesRig();
  await rig.lanes.noticeLoss(0, [], rig.epoch);
  await rig.write(1, await rig.take(1, 'dead'), 1, 'a1');
  await rig.pool.query("update lanes set renewed_at = now() - interval '1 minute' where lane = 1");
  await rig.write(1, await rig.take(1, 'next'), 2, 'b1');
  await rig.pool.query("update lanes set renewed_at = now() - interval '1 minute' where lane = 1");
  // As a process finishes it: it takes the lane, and asks.
  const epoch = await rig.take(1, 'zero/finisher');
  expect(await rig.lanes.noticeLoss(1, [lost], epoch)).toEqual({ generation: 2 });
  expect(await rig.generations()).toEqual({ '1 a1': 2, '1 b1': 2 });
});

it('a loss that a process knows by its memory counts for the rows of those who could not ask', async () => {
  await using rig = await lanesRig();
  await rig.write(1, await rig.take(1, 'second'), 1, 'a1');
  await rig.lanes.noticeLoss(0, [], rig.epoch);
  const remembered = { lane: 0, generation: 1, epoch: rig.epoch, batch: 5n, acts: [] };
  expect(await rig.lanes.noticeLoss(0, [remembered])).toEqual({ generation: 2 });
  expect(await rig.generations()).toEqual({ '1 a1': 2 });
});

it('what a lane commits while it can not ask Kafka again counts as unpublished, until it has', async () => {
  await using rig = await lanesRig();
  const asked = () => rig.lanes.noticeLoss(0, [], rig.epoch);
  await asked();
  await rig.write(0, rig.epoch, 1, 'a0');
  await rig.lanes.holdBack(0, rig.epoch);
  await asked();
  await rig.write(0, rig.epoch, 2, 'b0');
  await rig.lanes.holdBack(0, rig.epoch);
  await rig.write(0, rig.epoch, 3, 'c0');
  await rig.lanes.holdBack(0, rig.epoch);
  await rig.write(0, rig.epoch, 4, 'd0');
  expect(await rig.lanes.noticeLoss(0, [lost], rig.epoch)).toEqual({ generation: 2 });
  expect(await rig.generations()).toEqual({ '0 a0': 1, '0 b0': 1, '0 c0': 2, '0 d0': 2 });
});

it('a lost batch is missed although the next terms have given its number again', async () => {
  await using rig = await lanesRig();
  await rig.lanes.noticeLoss(0, [], rig.epoch);
  await rig.write(0, rig.epoch, 1, 'a0');
  const witness = (batch: bigint) => ({ ...lost, lane: 0, epoch: rig.epoch, batch });
  // Batches 2 and 3 of this term are lost, and Kafka has a witness of 2.
  for (const [batch, orderId] of [
    [2, 'b0'],
    [3, 'c0'],
  ] as const)
    await rig.write(0, await rig.take(0, 'first'), batch, orderId);
  const epoch = await rig.take(0, 'first');
  // By its memory a process knows of what it has not published.
  expect(await rig.lanes.noticeLoss(0, [witness(3n)])).toBeUndefined();
  expect(await rig.lanes.noticeLoss(0, [witness(2n)], epoch)).toEqual({ generation: 2 });
  expect(await rig.generations()).toEqual({ '0 a0': 1, '0 b0': 2, '0 c0': 2 });
  expect(await rig.lanes.noticeLoss(0, [witness(2n)], await rig.take(0, 'first')), 'known by now').toBeUndefined();
});

it('rows under a new generation that nobody has published yet get the next one too, and then none', async () => {
  await using rig = await lanesRig();
  await rig.write(0, rig.epoch, 1, 'a0');
  expect(await rig.lanes.noticeLoss(0, [lost], rig.epoch)).toEqual({ generation: 2 });
  const again = { ...lost, generation: 2 };
  expect(await rig.lanes.noticeLoss(1, [again])).toEqual({ generation: 3 });
  expect(await rig.generations()).toEqual({ '0 a0': 3 });
  await rig.lanes.noticeLoss(0, [], await rig.take(0, 'first'));
  const last = { ...lost, generation: 3 };
  expect(await rig.lanes.noticeLoss(1, [last])).toEqual({ generation: 4 });
  expect(await rig.generations()).toEqual({ '0 a0': 3 });
});
