// What a user saw: The shards of a dead process moved on after 3 s although Kafka had not answered yet.

import { expect, it } from 'vitest';
import { LaneFinisher } from '../../../src/service/fleet/lane-finisher.ts';
import { PostgresShardStore } from '../../../src/store/fleet/shard-store.ts';
import { PostgresUpdateLog } from '../../../src/store/orders/update-log.ts';
import { storeRig } from '../../support/orders/store-rig.ts';
import { takeShards } from '../../support/orders/take-shards.ts';
import { testLog } from '../../support/runs/test-log.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

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
