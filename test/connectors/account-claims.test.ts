import { describe, expect, it } from 'vitest';
import { AccountClaims, AccountsFollower } from '../../src/connectors/accounts-follower.ts';
import type { Stream } from '../../src/domain/order.ts';
import type { AccountsResult, OrderReads } from '../../src/platform/order-reads.ts';
import { seededRandom } from '../../src/runtime/random.ts';
import { ScriptedRegistry } from '../support/scripted-registry.ts';
import { silentLog } from '../support/silent-log.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const listed = (...ids: string[]): AccountsResult => ({
  complete: true,
  accounts: ids.map((accountId) => ({ accountId, isOpen: true, isSim: true })),
});
const unlisted: AccountsResult = {
  complete: false,
  error: { code: 'NO_ANSWER', message: 'no answer', retryable: true, sent: 'maybe' },
};

/** The follower of one credential, which is told what the platform lists to it. */
function credential(shared: { claims: AccountClaims; registry: ScriptedRegistry; clock: VirtualClock }) {
  const followed = new Set<string>();
  const source = {
    stream: 'account' as Stream,
    follow: ({ accountId }: { accountId: string }) => void followed.add(accountId),
    unfollow: (accountId: string) => void followed.delete(accountId),
  };
  const platform = { list: unlisted as AccountsResult };
  const reads = { listAccounts: async () => platform.list } as Partial<OrderReads> as OrderReads;
  const stop = new AbortController();
  const { claims, registry, clock } = shared;
  const deps = { reads, registry, clock, random: seededRandom(1), log: silentLog };
  const follower = new AccountsFollower(deps, [source], { claims });
  return { platform, followed, run: () => void follower.run(stop.signal), stop: () => stop.abort() };
}

describe('two credentials that see the same account', () => {
  const rig = () => {
    const shared = { claims: new AccountClaims(), registry: new ScriptedRegistry(), clock: new VirtualClock() };
    return { ...shared, one: credential(shared), two: credential(shared) };
  };

  it('follow it once, and the other goes on when the first one loses it', async () => {
    const { one, two, clock } = rig();
    one.platform.list = listed('a', 'b');
    two.platform.list = listed('b', 'c');
    one.run();
    await clock.advance(1);
    two.run();
    await clock.advance(1);
    expect([[...one.followed], [...two.followed]]).toEqual([['a', 'b'], ['c']]);
    one.platform.list = listed('a');
    await clock.advance(200_000);
    expect([[...one.followed], [...two.followed]]).toEqual([['a'], ['c', 'b']]);
    one.stop();
    two.stop();
    await clock.advance(1);
  });

  it('leave what one only remembers from an earlier run to the one that lists it', async () => {
    const { one, two, clock, registry } = rig();
    for (const accountId of ['a', 'b'])
      await registry.save({ stream: 'account', accountId, isSim: true, sourceEpoch: 0, readUpTo: undefined });
    one.run();
    await clock.advance(1);
    expect([...one.followed]).toEqual(['a', 'b']);
    two.platform.list = listed('b');
    two.run();
    await clock.advance(1);
    expect([[...one.followed], [...two.followed]]).toEqual([['a'], ['b']]);
    one.platform.list = listed('a', 'b');
    await clock.advance(200_000);
    expect([[...one.followed], [...two.followed]]).toEqual([['a'], ['b']]);
    one.stop();
    two.stop();
    await clock.advance(1);
  });
});
