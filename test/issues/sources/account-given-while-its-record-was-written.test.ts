// What a user saw: Orders that had ended were never shown after their shard had moved to another process.

import { expect, it } from 'vitest';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { AccountClaims } from '../../../src/service/sources/account-claims.ts';
import { AccountsFollower } from '../../../src/service/sources/accounts-follower.ts';
import type { OrderReads } from '../../../src/venue/platform/order-reads.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

type List = Awaited<ReturnType<OrderReads['listAccounts']>>;

/**
 * A shard was given away while the first record of one of its accounts was being written. The
 * account was followed all the same: its rows were dropped, since they were another process's by
 * then, and its mark said that they were read. The new process began behind the mark, so orders
 * that had ended were never seen (simulated seed 10466, with shards that are taken more quickly).
 */
it('an account that is given away while its record is written is not followed', async () => {
  const clock = new VirtualClock();
  const stop = new AbortController();
  let isOurs = true;
  const followed: string[] = [];
  const notOurs: string[] = [];
  const claims = new AccountClaims();
  const follower = new AccountsFollower(
    {
      reads: {
        listAccounts: async () =>
          ({ complete: true, accounts: [{ accountId: 'A', isSim: true, isOpen: true }] }) as unknown as List,
      } as unknown as OrderReads,
      registry: { load: async () => [], save: () => clock.sleep(5_000), openOrders: async () => [] },
      clock,
      random: seededRandom(1),
      log: silentLog,
    },
    (['account', 'prediction'] as const).map((stream) => ({
      stream,
      follow: () => {
        followed.push(stream);
        if (!isOurs) notOurs.push(stream);
      },
      unfollow: () => followed.splice(0),
      noteSimulated: () => {},
    })),
    { isOurs: () => isOurs, claims },
  );
  const running = follower.run(stop.signal);
  await clock.advance(6_000);
  expect(followed, 'the second record is still being written').toEqual(['account']);
  isOurs = false;
  follower.review();
  await clock.advance(20_000);
  expect([followed, notOurs]).toEqual([[], []]);
  expect(
    claims.claim('A', {}, false, () => undefined),
    'another credential may follow it',
  ).toBe(true);
  isOurs = true;
  follower.review();
  await clock.advance(20_000);
  expect(followed).toEqual(['account', 'prediction']);
  stop.abort();
  await clock.advance(1);
  await running;
});
