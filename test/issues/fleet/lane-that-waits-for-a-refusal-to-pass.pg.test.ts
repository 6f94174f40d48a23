// What a user saw: Accounts of a process that was gone had no process while Kafka refused us one read.

import { expect, it } from 'vitest';
import { LaneFinisher, laneFinisherDefaults } from '../../../src/service/fleet/lane-finisher.ts';
import { LossCheck } from '../../../src/service/fleet/loss-check.ts';
import { PublishError } from '../../../src/service/log/publisher.ts';
import { PostgresShardStore } from '../../../src/store/fleet/shard-store.ts';
import { PostgresUpdateLog } from '../../../src/store/orders/update-log.ts';
import { storeRig } from '../../support/orders/store-rig.ts';
import { takeShards } from '../../support/orders/take-shards.ts';
import { silentLog } from '../../support/runs/silent-log.ts';

// A process goes on with its own lane after a refusal, which does not pass
// by itself. With the lane of another one it waited for that, for ever.
it.each([
  ['is finished where Kafka refuses the look', 'unauthorized', []],
  ['stays where Kafka does not answer', 'connection', [1, 3]],
] as const)('the lane of a process that is gone %s', async (_what, code, held) => {
  await using rig = await storeRig();
  const shards = new PostgresShardStore(rig);
  await takeShards(shards, 0, rig.epoch, [1, 3]);
  const close = async () => undefined;
  const look = () => Promise.reject(new PublishError(code, 'the topic of updates'));
  const lossCheck = new LossCheck({ look, onLoss: () => {}, clock: rig.deps.clock, log: silentLog });
  const finisher = new LaneFinisher(
    {
      ...{ lanes: rig.lanes, shards, updates: new PostgresUpdateLog(rig.deps), lossCheck },
      publishers: () => ({ updates: { publish: close, close }, states: { takeOver: close, flush: close, close } }),
      ...{ ...rig.deps, log: silentLog },
    },
    { holder: 'finisher', actForMs: 20_000, renewEveryMs: 5_000, expireAfterMs: 1, ...laneFinisherDefaults },
  );
  await finisher.finish(0, new AbortController().signal).catch(() => undefined);
  lossCheck.end();
  const { assignments } = await shards.look(60_000);
  expect(assignments.filter(({ lane }) => lane === 0).map(({ shard }) => shard)).toEqual(held);
});
