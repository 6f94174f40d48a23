// What a user saw: Orders from before and after a loss of the platform's store were shown as the same orders.

import { expect, it } from 'vitest';
import { unreadAccount } from '../../support/commands/unread-account.ts';
import { followerRig, listOf } from '../../support/orders/follower-rig.ts';
import { ScriptedRegistry } from '../../support/platform/scripted-registry.ts';

/**
 * A shard was taken while the platform's list of accounts was being read. Its accounts were
 * followed by the records from before, without the source epoch that the last holder had begun:
 * orders of the lost store and of the new one counted as the same (simulated seed 98).
 */
it.each(['the list', 'the records'])(
  'an account that becomes ours while %s are read is followed by its newest record',
  async (slow) => {
    const registry = new ScriptedRegistry();
    let sourceEpoch = 0;
    let isOurs = false;
    const begun: number[] = [];
    registry.load = async () => {
      const read = [unreadAccount('A', { stream: 'prediction', sourceEpoch })];
      if (slow === 'the records') await rig.clock.sleep(5_000);
      return read;
    };
    const rig = followerRig({
      ...{ registry, streams: ['prediction'], isOurs: () => isOurs },
      onFollow: (_, record) => void begun.push(record.sourceEpoch),
    });
    rig.add('one', async () => {
      if (slow === 'the list') await rig.clock.sleep(5_000);
      return listOf('A');
    });
    rig.begin();
    await rig.clock.advance(1_000);
    sourceEpoch = 1;
    isOurs = true;
    rig.follower.review();
    await rig.clock.advance(20_000);
    expect(begun).toEqual([1]);
  },
);
