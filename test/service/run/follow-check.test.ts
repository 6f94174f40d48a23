import { describe, expect, it, onTestFinished } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { sumOfSeries } from '../../../src/observability/read-metric.ts';
import { FollowCheck, type FollowCheckOptions, followCheckDefaults } from '../../../src/service/run/follow-check.ts';
import type { AccountStanding } from '../../../src/service/sources/account-access.ts';
import type { PlatformAccount } from '../../../src/venue/platform/order-reads.ts';
import { unreadAccount } from '../../support/commands/unread-account.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

const listed = (accountId: string, isOpen = true): PlatformAccount => ({ accountId, isOpen, isSim: true });

/** The check of a process that follows nothing, until a test says otherwise. */
async function rig(over: Partial<FollowCheckOptions> = {}, stored = [unreadAccount('known')]) {
  const clock = new VirtualClock();
  const metrics = createMetrics();
  const state = {
    stored,
    lists: [] as PlatformAccount[],
    followed: new Set<string>(),
    standings: new Map<string, AccountStanding>(),
    ours: (_: string): boolean => true,
    fails: false,
  };
  const check = new FollowCheck(
    {
      registry: {
        load: async () => {
          if (state.fails) throw new Error('away');
          return state.stored;
        },
      },
      sources: {
        standing: (accountId) => state.standings.get(accountId),
        account: (stream, accountId) => (state.followed.has(`${stream}:${accountId}`) ? {} : undefined),
        listed: () => state.lists,
      },
      isOurs: (accountId) => state.ours(accountId),
      ...{ metrics: metrics.source, clock, log: silentLog },
    },
    { ...followCheckDefaults, streams: ['account', 'prediction'], ...over },
  );
  await check.rounds.start();
  onTestFinished(async () => {
    const drained = check.rounds.drain();
    await clock.advance(5_000);
    await drained;
  });
  const names = () => check.unfollowed.map(({ stream, accountId, why }) => `${stream} ${accountId}: ${why}`);
  return { clock, metrics, state, check, names };
}

const noLogin = 'no login that this process can use lists it';

describe('an account that ought to be followed', () => {
  it('by the database is named after half a minute, and no more once it is followed', async () => {
    const { clock, metrics, state, names } = await rig();
    await clock.advance(28_000);
    expect(names()).toEqual([]);
    await clock.advance(6_000);
    expect(names()).toEqual([`account known: ${noLogin}`]);
    expect(await sumOfSeries(metrics.source.unfollowed, { source: 'account' })).toBe(1);
    state.followed.add('account:known');
    await clock.advance(3_000);
    expect(names()).toEqual([]);
    expect(await sumOfSeries(metrics.source.unfollowed)).toBe(0);
  });

  it('by a list is named on each stream on which it is not followed', async () => {
    const { clock, state, names } = await rig({}, []);
    state.lists = [listed('new')];
    state.followed.add('account:new');
    await clock.advance(34_000);
    expect(names()).toEqual(['prediction new: a login lists it, and following it fails']);
  });

  it('by the settings is named where no login lists it', async () => {
    const { clock, state, names } = await rig({ only: new Set(['slip']) }, []);
    state.lists = [listed('other')];
    await clock.advance(34_000);
    expect(names()).toEqual([`account slip: ${noLogin}`]);
  });

  it('is named on a stream that this process is not set to follow', async () => {
    const { clock, state, names } = await rig({ streams: ['account'] }, [
      unreadAccount('known', { stream: 'prediction' }),
    ]);
    state.lists = [listed('known')];
    state.followed.add('account:known');
    await clock.advance(34_000);
    expect(names()).toEqual(['prediction known: this process has no address of its stream']);
  });

  it('is one that a login lists as closed', async () => {
    const { clock, state, names } = await rig({ streams: ['account'] }, []);
    state.lists = [listed('closed', false)];
    await clock.advance(34_000);
    expect(names()).toEqual(['account closed: a login lists it, and following it fails']);
  });

  it('is named while no login lists it any more, although it is followed on', async () => {
    const { clock, state, names } = await rig();
    state.followed.add('account:known');
    state.standings.set('known', { isOpen: false, unlistedSinceMs: 0 });
    await clock.advance(34_000);
    expect(names()).toEqual([expect.stringContaining('account known: no login lists it any more: it is followed on')]);
    state.standings.set('known', { isOpen: true });
    await clock.advance(3_000);
    expect(names()).toEqual([]);
  });

  it('is one that a list has shown since the database was read, and that none shows any more', async () => {
    const { clock, state, names } = await rig({ streams: ['account'] }, []);
    await clock.advance(5_000);
    state.lists = [listed('opened')];
    state.followed.add('account:opened');
    await clock.advance(10_000);
    state.lists = [];
    state.standings.set('opened', { isOpen: false, unlistedSinceMs: 0 });
    await clock.advance(34_000);
    expect(names()).toEqual([expect.stringContaining('account opened: no login lists it any more')]);
  });

  it('is not one that a person has taken out of the database, once that was read again', async () => {
    const { clock, state, names } = await rig({ streams: ['account'] }, []);
    state.lists = [listed('gone')];
    await clock.advance(34_000);
    state.lists = [];
    await clock.advance(followCheckDefaults.loadEveryMs);
    expect(names()).toEqual([]);
  });

  it('is named after half a minute of a clock that nobody can set back', async () => {
    const { clock, names } = await rig();
    await clock.advance(10_000);
    clock.stepWall(-3_600_000);
    await clock.advance(24_000);
    expect(names()).toEqual([`account known: ${noLogin}`]);
  });

  it('is not one that the settings leave out, or that another process has', async () => {
    const stored = ['left-out', 'elsewhere'].map((accountId) => unreadAccount(accountId));
    const { clock, state, names } = await rig({ only: new Set(['elsewhere']) }, stored);
    state.ours = (accountId) => accountId !== 'elsewhere';
    await clock.advance(120_000);
    expect(names()).toEqual([]);
  });

  it('is found in the database after a review, and the accounts read before stay while it is away', async () => {
    const { clock, state, check, names } = await rig();
    await clock.advance(3_000);
    state.stored = [unreadAccount('known'), unreadAccount('taken')];
    check.review();
    await clock.advance(34_000);
    expect(names()).toEqual([`account known: ${noLogin}`, `account taken: ${noLogin}`]);
    state.fails = true;
    check.review();
    await clock.advance(34_000);
    expect(names()).toHaveLength(2);
  });
});
