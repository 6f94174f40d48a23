// What a user saw: Orders from before and after a loss of the platform's store were shown as the same orders.

import { expect, it } from 'vitest';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { AccountsFollower } from '../../../src/service/sources/accounts-follower.ts';
import type { AccountRecord } from '../../../src/store/fleet/account-registry.ts';
import type { OrderReads } from '../../../src/venue/platform/order-reads.ts';
import { unreadAccount } from '../../support/commands/unread-account.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

type List = Awaited<ReturnType<OrderReads['listAccounts']>>;

/**
 * A shard was taken while the platform's list of accounts was being read. Its accounts were
 * followed by the records from before, without the source epoch that the last holder had begun:
 * orders of the lost store and of the new one counted as the same (simulated seed 98).
 */
it.each(['the list', 'the records'])(
  'an account that becomes ours while %s are read is followed by its newest record',
  async (slow) => {
    const clock = new VirtualClock();
    const stop = new AbortController();
    const record = (sourceEpoch: number) => unreadAccount('A', { stream: 'prediction', sourceEpoch });
    let sourceEpoch = 0;
    let isOurs = false;
    const followed: AccountRecord[] = [];
    const follower = new AccountsFollower(
      {
        reads: {
          listAccounts: async () => {
            if (slow === 'the list') await clock.sleep(5_000);
            return { complete: true, accounts: [{ accountId: 'A', isSim: true, isOpen: true }] } as unknown as List;
          },
        } as unknown as OrderReads,
        registry: {
          load: async () => {
            const read = [record(sourceEpoch)];
            if (slow === 'the records') await clock.sleep(5_000);
            return read;
          },
          save: async () => undefined,
          openOrders: async () => [],
        },
        clock,
        random: seededRandom(1),
        log: silentLog,
      },
      [
        {
          stream: 'prediction',
          follow: (each) => followed.push(each),
          unfollow: () => undefined,
          noteSimulated: () => {},
        },
      ],
      { isOurs: () => isOurs },
    );
    const running = follower.run(stop.signal);
    await clock.advance(1_000);
    sourceEpoch = 1;
    isOurs = true;
    follower.review();
    await clock.advance(20_000);
    expect(followed.map((each) => each.sourceEpoch)).toEqual([1]);
    stop.abort();
    await clock.advance(1);
    await running;
  },
);
