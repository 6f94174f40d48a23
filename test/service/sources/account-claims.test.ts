import { describe, expect, it } from 'vitest';
import type { Stream } from '../../../src/domain/order.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { AccountClaims } from '../../../src/service/sources/account-claims.ts';
import { AccountsFollower } from '../../../src/service/sources/accounts-follower.ts';
import type { AccountRecord } from '../../../src/store/fleet/account-registry.ts';
import type { AccountsResult, OrderReads } from '../../../src/venue/platform/order-reads.ts';
import { unreadAccount } from '../../support/commands/unread-account.ts';
import { ScriptedRegistry } from '../../support/platform/scripted-registry.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

const listed = (...ids: string[]): AccountsResult => ({
  complete: true,
  accounts: ids.map((accountId) => ({ accountId, isOpen: true, isSim: true })),
});
const unlisted: AccountsResult = {
  complete: false,
  error: { code: 'NO_ANSWER', message: 'no answer', retryable: true, sent: 'maybe' },
};

/** The follower of one credential, which is told what the platform lists to it. */
function credential(
  shared: { claims: AccountClaims; registry: ScriptedRegistry; clock: VirtualClock },
  isOurs: (accountId: string) => boolean = () => true,
) {
  const followed = new Set<string>();
  const records = new Map<string, AccountRecord>();
  const source = {
    stream: 'account' as Stream,
    follow: (record: AccountRecord) => {
      followed.add(record.accountId);
      records.set(record.accountId, record);
    },
    unfollow: (accountId: string) => void followed.delete(accountId),
    noteSimulated: () => {},
  };
  const platform = { list: unlisted as AccountsResult };
  const reads = { listAccounts: async () => platform.list } as Partial<OrderReads> as OrderReads;
  const stop = new AbortController();
  const { claims, registry, clock } = shared;
  const deps = { reads, registry, clock, random: seededRandom(1), log: silentLog };
  const follower = new AccountsFollower(deps, [source], { claims, isOurs });
  return {
    platform,
    followed,
    records,
    review: () => follower.review(),
    run: () => void follower.run(stop.signal),
    stop: () => stop.abort(),
  };
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
    for (const accountId of ['a', 'b']) await registry.save(unreadAccount(accountId));
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

describe('accounts of which this process follows some, and other processes the others', () => {
  const rig = () => {
    const ours = new Set(['a']);
    const shared = { claims: new AccountClaims(), registry: new ScriptedRegistry(), clock: new VirtualClock() };
    return { ...shared, ours, one: credential(shared, (accountId) => ours.has(accountId)) };
  };

  it('leaves at once those that went to another process, and follows those that came, without a new list', async () => {
    const { one, ours, clock } = rig();
    one.platform.list = listed('a', 'b', 'c');
    one.run();
    await clock.advance(1);
    expect([...one.followed]).toEqual(['a']);
    one.platform.list = unlisted;
    ours.delete('a');
    ours.add('b');
    one.review();
    expect([...one.followed]).toEqual([]);
    await clock.advance(1);
    expect([...one.followed]).toEqual(['b']);
    one.stop();
    await clock.advance(1);
  });

  it('begins with the record as it is stored now, which another process may have written', async () => {
    const { one, ours, clock, registry } = rig();
    const record = unreadAccount('b');
    one.platform.list = listed('a', 'b');
    one.run();
    await clock.advance(1);
    await registry.save({ ...record, sourceEpoch: 3 });
    ours.add('b');
    one.review();
    await clock.advance(1);
    expect([...one.followed]).toEqual(['a', 'b']);
    expect(one.records.get('b')).toMatchObject({ sourceEpoch: 3 });
    one.stop();
    await clock.advance(1);
  });

  it('follows a changed set also when the change comes while the list is asked for', async () => {
    const { one, ours, clock } = rig();
    one.platform.list = listed('a', 'b');
    one.run();
    ours.add('b');
    one.review();
    await clock.advance(1);
    expect([...one.followed]).toEqual(['a', 'b']);
    one.stop();
    await clock.advance(1);
  });
});
