import { describe, expect, it } from 'vitest';
import { LaneFinisher } from '../../../src/service/fleet/lane-finisher.ts';
import type { Publisher, StatePublisher } from '../../../src/service/log/publisher.ts';
import { PostgresShardStore } from '../../../src/store/fleet/shard-store.ts';
import { PostgresUpdateLog } from '../../../src/store/orders/update-log.ts';
import { batch, storeRig } from '../../support/orders/store-rig.ts';
import { takeShards } from '../../support/orders/take-shards.ts';
import { testLog } from '../../support/runs/test-log.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

interface Publishers {
  readonly updates: Publisher;
  readonly states: StatePublisher;
}

type Asks = ConstructorParameters<typeof LaneFinisher>[0]['lossCheck'];

const never = new Promise<never>(() => {});
const close = async () => undefined;
const lossCheck = { ask: async () => {} };
const withoutKafka: Publishers = {
  updates: { publish: () => never, close },
  states: { takeOver: () => never, flush: () => never, close },
};

it('a process that can not reach Kafka, or finds that the database lost commits, gives the lane of another back with its shards', async () => {
  await using rig = await storeRig();
  const shards = new PostgresShardStore(rig);
  await takeShards(shards, 0, rig.epoch, [1, 3]);
  await rig.store.applyBatch(batch(rig.epoch, 1, [['o1', 1]]));
  const sent: string[] = [];
  const withKafka: Publishers = {
    updates: { publish: async (rows) => void sent.push(...rows.map(({ key }) => key)), close },
    states: { takeOver: close, flush: close, close },
  };
  const finisherWith = (publishers: Publishers, holder: string, publishWithinMs: number, asks: Asks = lossCheck) =>
    new LaneFinisher(
      {
        lanes: rig.lanes,
        shards,
        updates: new PostgresUpdateLog(rig.deps),
        publishers: () => publishers,
        lossCheck: asks,
        ...rig.deps,
        log: testLog,
      },
      // The holder that the rig made renews nothing: it is silent for longer than a millisecond.
      { holder, actForMs: 20_000, renewEveryMs: 5_000, expireAfterMs: 1, publishWithinMs },
    );
  const assignments = async () =>
    (await shards.look(60_000)).assignments.filter(({ lane }) => lane === 0).map(({ shard }) => shard);
  const { signal } = new AbortController();

  await expect(finisherWith(withoutKafka, 'cut off', 300).finish(0, signal)).rejects.toThrow('took longer than 300 ms');
  expect(await rig.rows('select holder from lanes')).toEqual([{ holder: null }]);
  expect([await assignments(), sent]).toEqual([[1, 3], []]);

  const lost = { ask: () => Promise.reject(new Error('Kafka has updates that the database lacks')) };
  await expect(finisherWith(withKafka, 'asks', 60_000, lost).finish(0, signal)).rejects.toThrow('the database lacks');
  expect([await rig.rows('select holder from lanes'), await assignments(), sent]).toEqual([
    [{ holder: null }],
    [1, 3],
    [],
  ]);

  await finisherWith(withKafka, 'well', 60_000).finish(0, signal);
  expect(await assignments()).toEqual([]);
  expect(sent.length).toBeGreaterThan(0);
}, 120_000);

describe('issue: The shards of a dead process moved on after 3 s although Kafka had not answered yet.', () => {
  // The lane counted as held from its taking on, and after 3 s its
  // shards were freed, whatever Kafka said later.
  it('the shards of a lane stay with it until Kafka has answered, however late that is', async () => {
    await using rig = await storeRig();
    const shards = new PostgresShardStore(rig);
    await takeShards(shards, 0, rig.epoch, [1, 3]);
    const close = async () => undefined;
    const publishers = { updates: { publish: close, close }, states: { takeOver: close, flush: close, close } };
    const clock = new VirtualClock();
    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<void>();
    const lossCheck = {
      ask: () => {
        asked.resolve();
        return answer.promise;
      },
    };
    const finisher = new LaneFinisher(
      {
        lanes: rig.lanes,
        shards,
        updates: new PostgresUpdateLog(rig.deps),
        publishers: () => publishers,
        lossCheck,
        ...rig.deps,
        clock,
        log: testLog,
      },
      { holder: 'finisher', actForMs: 20_000, renewEveryMs: 5_000, expireAfterMs: 1, publishWithinMs: 20_000 },
    );
    const held = async () =>
      (await shards.look(60_000)).assignments.filter(({ lane }) => lane === 0).map(({ shard }) => shard);

    const finished = finisher.finish(0, new AbortController().signal).catch((error: Error) => error.message);
    await asked.promise;
    await clock.advance(4_000);
    expect(await held()).toEqual([1, 3]);
    answer.reject(new Error('Kafka has updates that the database lacks'));
    expect(await finished).toBe('Kafka has updates that the database lacks');
    expect(await held()).toEqual([1, 3]);
  });
});
