// What a user saw: Orders that had ended were never shown after their shard had moved to another process.

import { expect, it } from 'vitest';
import { followerRig, listOf } from '../../support/orders/follower-rig.ts';
import { ScriptedRegistry } from '../../support/platform/scripted-registry.ts';

/**
 * A shard was given away while the first record of one of its accounts was being written. The
 * account was followed all the same: its rows were dropped, since they were another process's by
 * then, and its mark said that they were read. The new process began behind the mark, so orders
 * that had ended were never seen (simulated seed 10466, with shards that are taken more quickly).
 */
it('an account that is given away while its record is written is not followed', async () => {
  const registry = new ScriptedRegistry();
  const save = registry.save.bind(registry);
  registry.save = async (record) => {
    await rig.clock.sleep(5_000);
    await save(record);
  };
  let isOurs = true;
  const notOurs: string[] = [];
  const rig = followerRig({
    registry,
    isOurs: () => isOurs,
    onFollow: (_, { stream }) => {
      if (!isOurs) notOurs.push(stream);
    },
  });
  const one = rig.add('one', listOf('A'));
  rig.begin();
  await rig.clock.advance(4_000);
  isOurs = false;
  rig.follower.review();
  await rig.clock.advance(20_000);
  expect([one.on('account'), one.on('prediction'), notOurs]).toEqual([[], [], []]);
  isOurs = true;
  rig.follower.review();
  await rig.clock.advance(20_000);
  expect([one.on('account'), one.on('prediction')]).toEqual([['A'], ['A']]);
});
