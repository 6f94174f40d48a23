import { describe, expect, it } from 'vitest';
import { sumOfSeries } from '../../../src/observability/read-metric.ts';
import { accountsFollowerDefaults } from '../../../src/service/sources/accounts-follower.ts';
import { unreadAccount } from '../../support/commands/unread-account.ts';
import { failedList, followerRig, listOf } from '../../support/orders/follower-rig.ts';
import { ScriptedRegistry } from '../../support/platform/scripted-registry.ts';

/** A list is read again within this time. */
const listed = 61_000;

describe('two logins that see the same account', () => {
  it('follow it once, and the other goes on when the first one loses it', async () => {
    const rig = followerRig();
    const one = rig.add('one', listOf('a', 'b'));
    rig.begin();
    await rig.clock.advance(1);
    const two = rig.add('two', listOf('b', 'c'));
    await rig.clock.advance(1);
    expect([one.followed, two.followed]).toEqual([['a', 'b'], ['c']]);
    // As its session stores it.
    await rig.registry.save({ ...unreadAccount('b'), sourceEpoch: 3 });
    one.platform.list = listOf('a');
    await rig.clock.advance(listed);
    expect([one.followed, two.followed]).toEqual([['a'], ['c', 'b']]);
    expect(two.sources[0]?.followed.get('b')).toMatchObject({ sourceEpoch: 3 });
  });

  it('leave what one only remembers from an earlier run to the one that lists it', async () => {
    const rig = followerRig();
    for (const accountId of ['a', 'b']) await rig.registry.save(unreadAccount(accountId));
    const one = rig.add('one');
    rig.begin();
    await rig.clock.advance(1);
    expect(one.followed).toEqual(['a', 'b']);
    const two = rig.add('two', listOf('b'));
    await rig.clock.advance(1);
    expect([one.followed, two.followed]).toEqual([['a'], ['b']]);
    one.platform.list = listOf('a', 'b');
    await rig.clock.advance(200_000);
    expect([one.followed, two.followed]).toEqual([['a'], ['b']]);
  });

  it('leave it to the other one as soon as the first is removed', async () => {
    const rig = followerRig();
    const one = rig.add('one', listOf('a'));
    const two = rig.add('two', listOf('a'));
    rig.begin();
    await rig.clock.advance(1);
    expect([one.followed, two.followed]).toEqual([['a'], []]);
    rig.remove('one');
    await rig.clock.advance(1);
    expect(two.followed).toEqual(['a']);
  });
});

it('of two keys for one account the newest is used, and the other once that is removed', async () => {
  const stream = 'alpaca_paper' as const;
  const rig = followerRig({ ofVenue: [stream], streams: [stream] });
  const settings = rig.add('alpaca', listOf('a'));
  rig.begin();
  await rig.clock.advance(1);
  const linked = rig.add('alpaca_paper:a', listOf('a'));
  await rig.clock.advance(1);
  expect([settings.on(stream), linked.on(stream)]).toEqual([[], ['a']]);
  // Alpaca ends the first key when a second one is made: its list says nothing more.
  settings.platform.list = failedList;
  await rig.clock.advance(listed);
  expect([settings.on(stream), linked.on(stream)]).toEqual([[], ['a']]);
  settings.platform.list = listOf('a');
  rig.remove('alpaca_paper:a');
  await rig.clock.advance(1);
  expect(settings.on(stream)).toEqual(['a']);
});

describe('issue: An account had no orders and no cancels after its newest key was revoked, beside a good one.', () => {
  it('goes to the other key that lists it, and back once the newest is taken again', async () => {
    const stream = 'alpaca_paper' as const;
    const rig = followerRig({ ofVenue: [stream], streams: [stream] });
    const settings = rig.add('alpaca', listOf('a'));
    const linked = rig.add('alpaca_paper:a', listOf('a'));
    rig.begin();
    await rig.clock.advance(listed);
    expect([settings.on(stream), linked.on(stream)]).toEqual([[], ['a']]);
    linked.platform.list = {
      complete: false,
      error: { code: 'LOGIN_REQUIRED', message: 'refused', retryable: false, sent: 'no' },
    };
    await rig.clock.advance(listed);
    expect([settings.on(stream), linked.on(stream)]).toEqual([['a'], []]);
    linked.platform.list = failedList;
    await rig.clock.advance(listed);
    expect(settings.on(stream)).toEqual(['a']);
    linked.platform.list = listOf('a');
    await rig.clock.advance(listed);
    expect([settings.on(stream), linked.on(stream)]).toEqual([[], ['a']]);
  });
});

describe('accounts of which this process follows some, and other processes the others', () => {
  const begun = async () => {
    const ours = new Set(['a']);
    const rig = followerRig({ isOurs: (accountId) => ours.has(accountId) });
    const one = rig.add('one', listOf('a', 'b', 'c'));
    rig.begin();
    return { ...rig, ours, one };
  };

  it('leaves at once those that went to another process, and follows those that came, without a new list', async () => {
    const { one, ours, clock, follower } = await begun();
    await clock.advance(1);
    expect(one.followed).toEqual(['a']);
    one.platform.list = failedList;
    ours.delete('a');
    ours.add('b');
    follower.review();
    expect(one.followed).toEqual([]);
    await clock.advance(1);
    expect(one.followed).toEqual(['b']);
  });

  it('begins with the record as it is stored now, which another process may have written', async () => {
    const { one, ours, clock, registry, follower } = await begun();
    await clock.advance(1);
    await registry.save({ ...unreadAccount('b'), sourceEpoch: 3 });
    ours.add('b');
    follower.review();
    await clock.advance(1);
    expect(one.followed).toEqual(['a', 'b']);
    expect(one.sources[0]?.followed.get('b')).toMatchObject({ sourceEpoch: 3 });
  });

  it('follows a changed set also when the change comes while the list is asked for', async () => {
    const { one, ours, clock, follower } = await begun();
    ours.add('b');
    follower.review();
    await clock.advance(1);
    expect(one.followed).toEqual(['a', 'b']);
  });

  it('does not take an account for unlisted that came after the list was asked for', async () => {
    const { one, ours, clock, registry, follower } = await begun();
    await clock.advance(1);
    await registry.save(unreadAccount('new'));
    ours.add('new');
    follower.review();
    await clock.advance(1);
    expect([one.followed, one.standing('new')]).toEqual([['a', 'new'], undefined]);
    await clock.advance(listed);
    expect(one.standing('new')).toEqual({ isOpen: false, unlistedSinceMs: expect.any(Number) });
  });
});

it('an account that the database refuses does not keep the others from being followed', async () => {
  const registry = new ScriptedRegistry();
  const save = registry.save.bind(registry);
  registry.save = async (record) => {
    if (record.accountId === 'bad') throw new Error('refused');
    await save(record);
  };
  const rig = followerRig({ registry });
  const one = rig.add('one', listOf('bad', 'good'));
  rig.begin();
  await rig.clock.advance(1);
  expect(one.followed).toEqual(['good']);
  expect(rig.follower.hasListed, 'an account that is not followed may yet be').toBe(false);
});

const noLogin = 'no login that this process can use lists it';
const fails = 'a login lists it, and following it fails';

/** A process whose logins list nothing, and a database that refuses new accounts. */
async function idle(over: Parameters<typeof followerRig>[0] = {}, stored = [unreadAccount('known')]) {
  const registry = new ScriptedRegistry();
  for (const record of stored) await registry.save(record);
  const database = { away: false, takes: false };
  const load = registry.load.bind(registry);
  const save = registry.save.bind(registry);
  registry.load = async () => {
    if (database.away) throw new Error('away');
    return await load();
  };
  registry.save = async (record) => {
    if (!database.takes) throw new Error('refused');
    await save(record);
  };
  const rig = followerRig({ ...over, registry });
  // Another login may have the accounts that this one does not list.
  rig.state.knowsAll = false;
  const one = rig.add('one', listOf());
  rig.begin();
  return { ...rig, one, database, registry };
}

describe('an account that ought to be followed', () => {
  it('by the database is named after half a minute, and no more once it is followed', async () => {
    const { clock, metrics, one, doubts } = await idle();
    await clock.advance(28_000);
    expect(doubts()).toEqual([]);
    await clock.advance(6_000);
    expect(doubts()).toEqual([`account known: ${noLogin}`]);
    expect(await sumOfSeries(metrics.unfollowed, { source: 'account' })).toBe(1);
    one.platform.list = listOf('known');
    await clock.advance(listed);
    expect(doubts()).toEqual([`prediction known: ${fails}`]);
    expect(await sumOfSeries(metrics.unfollowed, { source: 'account' })).toBe(0);
  });

  it('by a list is named on each stream on which it is not followed', async () => {
    const { clock, one, doubts } = await idle({}, [unreadAccount('new')]);
    one.platform.list = listOf('new');
    await clock.advance(listed + 34_000);
    expect(doubts()).toEqual([`prediction new: ${fails}`]);
  });

  it('by the settings is named where no login lists it, and nothing is begun for it', async () => {
    const { clock, one, doubts, database, state, registry } = await idle({ only: new Set(['slip']) }, []);
    Object.assign(database, { takes: true });
    Object.assign(state, { knowsAll: true });
    one.platform.list = listOf('other');
    await clock.advance(listed + 34_000);
    expect(doubts()).toEqual([`account slip: ${noLogin}`]);
    expect(registry.saves).toEqual([]);
  });

  it('is named on a stream that this process is not set to follow', async () => {
    const stored = [unreadAccount('known', { stream: 'prediction' })];
    const { clock, one, database, doubts } = await idle({ streams: ['account'] }, stored);
    database.takes = true;
    one.platform.list = listOf('known');
    await clock.advance(listed + 34_000);
    expect(one.followed).toEqual(['known']);
    expect(doubts()).toEqual(['prediction known: this process has no address of its stream']);
  });

  it('is one that a login lists as closed', async () => {
    const { clock, one, doubts } = await idle({ streams: ['account'] }, []);
    one.platform.list = { complete: true, accounts: [{ accountId: 'closed', isOpen: false }] };
    await clock.advance(listed + 34_000);
    expect(doubts()).toEqual([`account closed: ${fails}`]);
  });

  it('is named while no login lists it any more, although it is followed on', async () => {
    const { clock, one, doubts } = await idle({ streams: ['account'] });
    one.platform.list = listOf('known');
    await clock.advance(listed);
    one.platform.list = listOf();
    await clock.advance(listed + 34_000);
    expect(one.followed).toEqual(['known']);
    expect(doubts()).toEqual([expect.stringContaining('account known: no login lists it any more: it is followed on')]);
    one.platform.list = listOf('known');
    await clock.advance(listed);
    expect(doubts()).toEqual([]);
  });

  it('is one that a list has shown, and that none shows any more', async () => {
    const { clock, one, database, doubts } = await idle({ streams: ['account'] }, []);
    database.takes = true;
    one.platform.list = listOf('opened');
    await clock.advance(listed);
    one.platform.list = listOf();
    await clock.advance(listed + 34_000);
    expect(doubts()).toEqual([expect.stringContaining('account opened: no login lists it any more')]);
  });

  it('is not one that a person has taken out of the database, once that was read again', async () => {
    const { clock, one, registry, doubts } = await idle({ streams: ['account'] });
    one.platform.list = listOf('known');
    await clock.advance(listed);
    one.platform.list = listOf();
    await clock.advance(listed + 34_000);
    expect(doubts()).toHaveLength(1);
    registry.records.clear();
    await clock.advance(accountsFollowerDefaults.loadEveryMs);
    expect([doubts(), one.followed]).toEqual([[], []]);
  });

  it('is named after half a minute of a clock that nobody can set back', async () => {
    const { clock, doubts } = await idle();
    await clock.advance(10_000);
    clock.stepWall(-3_600_000);
    await clock.advance(24_000);
    expect(doubts()).toEqual([`account known: ${noLogin}`]);
  });

  it('is not one that the settings leave out, or that another process has', async () => {
    const stored = ['left-out', 'elsewhere'].map((accountId) => unreadAccount(accountId));
    const options = { only: new Set(['elsewhere']), isOurs: (accountId: string) => accountId !== 'elsewhere' };
    const { clock, doubts } = await idle(options, stored);
    await clock.advance(120_000);
    expect(doubts()).toEqual([]);
  });

  it('is found in the database after a review, and the accounts read before stay while it is away', async () => {
    const { clock, registry, database, follower, doubts } = await idle();
    await clock.advance(3_000);
    registry.records.set('account:taken', unreadAccount('taken'));
    follower.review();
    await clock.advance(34_000);
    expect(doubts()).toEqual([`account known: ${noLogin}`, `account taken: ${noLogin}`]);
    database.away = true;
    follower.review();
    await clock.advance(34_000);
    expect(doubts()).toHaveLength(2);
  });

  it('is named where there is no login at all', async () => {
    const { clock, remove, doubts } = await idle();
    remove('one');
    await clock.advance(34_000);
    expect(doubts()).toEqual([`account known: ${noLogin}`]);
  });
});

describe('issue: With the key pair of another account, its orders were filed under the account before it.', () => {
  const stream = 'alpaca_paper' as const;
  const begun = async (list: Parameters<ReturnType<typeof followerRig>['add']>[1]) => {
    const rig = followerRig({ ofVenue: [stream], streams: [stream] });
    await rig.registry.save({ ...unreadAccount('before'), stream });
    const login = rig.add('alpaca', list);
    rig.begin();
    await rig.clock.advance(1);
    return { ...rig, login };
  };

  it('follows the listed account alone, and names the other', async () => {
    const { login, clock, doubts } = await begun(listOf('now'));
    expect(login.on(stream)).toEqual(['now']);
    await clock.advance(listed);
    expect(doubts()).toEqual([`${stream} before: ${noLogin}`]);
  });

  it('follows none before the venue has named its account', async () => {
    const { login, clock } = await begun(failedList);
    expect(login.on(stream)).toEqual([]);
    login.platform.list = listOf('before');
    await clock.advance(listed);
    expect(login.on(stream)).toEqual(['before']);
  });

  it('leaves an account that is listed no longer, and keeps it through a failed list', async () => {
    const { login, clock } = await begun(listOf('before'));
    login.platform.list = failedList;
    await clock.advance(listed);
    expect(login.on(stream)).toEqual(['before']);
    login.platform.list = listOf('now');
    await clock.advance(listed);
    expect(login.on(stream)).toEqual(['now']);
  });
});
