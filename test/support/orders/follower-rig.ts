import { onTestFinished } from 'vitest';
import type { Stream } from '../../../src/domain/order.ts';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { AccountList } from '../../../src/service/sources/account-list.ts';
import {
  AccountsFollower,
  type AccountsFollowerOptions,
  accountsFollowerDefaults,
  type FollowingLogin,
} from '../../../src/service/sources/accounts-follower.ts';
import type { AccountRecord, AccountRegistry } from '../../../src/store/fleet/account-registry.ts';
import type { AccountsResult } from '../../../src/venue/order-reads.ts';
import { ScriptedRegistry } from '../platform/scripted-registry.ts';
import { silentLog } from '../runs/silent-log.ts';
import { VirtualClock } from '../runs/virtual-clock.ts';

/** A whole list of open, simulated accounts. */
export const listOf = (...ids: string[]): Extract<AccountsResult, { complete: true }> => ({
  complete: true,
  accounts: ids.map((accountId) => ({ accountId, isOpen: true, isSim: true })),
});
export const failedList: AccountsResult = {
  complete: false,
  error: { code: 'NO_ANSWER', message: 'no answer', retryable: true, sent: 'maybe' },
};

interface FollowerRigOptions extends Partial<AccountsFollowerOptions> {
  readonly registry?: AccountRegistry;
  /** Called for each account stream that begins. */
  readonly onFollow?: (login: string, record: AccountRecord) => void;
}

const ofVenue: readonly Stream[] = ['account', 'prediction'];

/** The real follower with its logins' real lists; their answers and sources are the test's. */
export function followerRig({ registry = new ScriptedRegistry(), onFollow, ...options }: FollowerRigOptions = {}) {
  const clock = new VirtualClock();
  const metrics = createMetrics().source;
  const logins = new Map<string, FollowingLogin>();
  const stops = new Map<string, AbortController>();
  const state = { knowsAll: true };
  const all = { ...accountsFollowerDefaults, knowsAll: () => state.knowsAll, ofVenue, streams: ofVenue, ...options };
  const follower = new AccountsFollower({ clock, log: silentLog, registry, logins, metrics }, all);
  const over = new AbortController();
  const running: Promise<void>[] = [];
  const begin = () => void running.push(follower.run(over.signal));
  const end = async () => {
    for (const each of [over, ...stops.values()]) each.abort();
    await clock.advance(60_000);
    await Promise.all(running);
  };
  onTestFinished(end);

  const scriptedSource = (login: string, stream: Stream) => {
    const followed = new Map<string, AccountRecord>();
    return {
      ...{ stream, followed, simulated: new Map<string, boolean>() },
      follow: (record: AccountRecord) => {
        followed.set(record.accountId, record);
        onFollow?.(login, record);
      },
      unfollow: (accountId: string) => void followed.delete(accountId),
      noteSimulated(accountId: string, isSim: boolean) {
        if (followed.has(accountId)) this.simulated.set(accountId, isSim);
      },
    };
  };
  const add = (name: string, list: AccountsResult | (() => Promise<AccountsResult>) = failedList) => {
    const platform = { list, lists: 0 };
    const listAccounts = async () => {
      platform.lists += 1;
      return typeof platform.list === 'function' ? await platform.list() : platform.list;
    };
    const accounts = new AccountList(
      {
        ...{ clock, random: seededRandom(1), log: silentLog, follower },
        reads: { listAccounts },
      },
      45_000,
    );
    const sources = all.streams.map((stream) => scriptedSource(name, stream));
    const stop = new AbortController();
    stops.set(name, stop);
    logins.set(name, { list: accounts, sources });
    follower.wake();
    running.push(accounts.run(stop.signal));
    const on = (stream: Stream) => [...(sources.find((source) => source.stream === stream)?.followed.keys() ?? [])];
    return {
      platform,
      sources,
      /** The accounts that it follows on the stream. */
      on,
      get followed() {
        return on('account');
      },
      standing: (accountId: string) => accounts.lists.accounts.get(accountId)?.standing,
    };
  };
  const remove = (name: string) => {
    stops.get(name)?.abort();
    logins.delete(name);
    follower.review();
  };
  /** The doubts, as they are worded. */
  const doubts = () => follower.unfollowed.map(({ stream, accountId, why }) => `${stream} ${accountId}: ${why}`);
  return { clock, registry, metrics, follower, logins, state, begin, end, add, remove, doubts };
}
