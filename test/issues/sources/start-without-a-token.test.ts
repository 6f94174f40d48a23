// What a user saw: Without a token the service hung from its start, answered no probe and ignored SIGTERM.

import { expect, it } from 'vitest';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { AccountsFollower } from '../../../src/service/sources/accounts-follower.ts';
import type { AccountRecord } from '../../../src/store/fleet/account-registry.ts';
import type { OrderReads } from '../../../src/venue/platform/order-reads.ts';
import { unreadAccount } from '../../support/commands/unread-account.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

/**
 * Without a token each list failed at once, from the memory of the token source. Where shards were
 * taken before the first list, the service turned in a loop of promises from its start on: no probe
 * was answered, and SIGTERM was not obeyed.
 */
function begin(options: { failures?: number; loads?: () => Promise<void> } = {}) {
  const clock = new VirtualClock();
  const stop = new AbortController();
  const world = { lists: 0, loads: 0, isOurs: true, followed: [] as AccountRecord[] };
  const error = { code: 'TOKEN_UNAVAILABLE', message: 'no token', retryable: true, sent: 'no' };
  const known = ['A', 'B'].map((accountId) => unreadAccount(accountId, { stream: 'prediction' }));
  const listed = known.map(({ accountId }) => ({ accountId, isSim: true, isOpen: true }));
  const listAccounts = async () => {
    world.lists += 1;
    const fails = world.lists <= (options.failures ?? Number.POSITIVE_INFINITY);
    return fails ? { complete: false, error } : { complete: true, accounts: listed };
  };
  const registry = {
    load: async () => {
      world.loads += 1;
      await options.loads?.();
      return known;
    },
    save: async () => undefined,
    openOrders: async () => [],
  };
  const reads = { listAccounts } as unknown as OrderReads;
  const follower = new AccountsFollower(
    { reads, registry, clock, random: seededRandom(1), log: silentLog },
    [
      {
        stream: 'prediction',
        follow: (each) => world.followed.push(each),
        unfollow: () => undefined,
        noteSimulated: () => {},
      },
    ],
    { isOurs: () => world.isOurs },
  );
  const running = follower.run(stop.signal);
  const end = async () => {
    stop.abort();
    await clock.advance(0);
    await running;
  };
  return { clock, follower, world, end };
}

it('a review before the first list asks no more often than the backoff does', async () => {
  const { clock, follower, world, end } = begin();
  follower.review();
  await clock.advance(60_000);
  expect(world.lists).toBeGreaterThan(1);
  expect(world.lists).toBeLessThan(20);
  await end();
});

it('accounts that become ours while the platform is away are followed, each once', async () => {
  const { clock, follower, world, end } = begin();
  world.isOurs = false;
  await clock.advance(2_000);
  world.isOurs = true;
  follower.review();
  await clock.advance(10);
  follower.review();
  await clock.advance(60_000);
  expect(world.followed.map(({ accountId }) => accountId)).toEqual(['A', 'B']);
  await end();
});

it('a review that the database refused is done by the next try, though the platform is away again', async () => {
  let refuses = false;
  const loads = async () => {
    if (refuses) throw new Error('the database is away');
  };
  const { clock, follower, world, end } = begin({ loads, failures: 0 });
  world.isOurs = false;
  await clock.advance(1);
  refuses = true;
  world.isOurs = true;
  follower.review();
  await clock.advance(200);
  expect(world.followed).toEqual([]);
  refuses = false;
  await clock.advance(2_000);
  expect(world.followed.map(({ accountId }) => accountId)).toEqual(['A', 'B']);
  await end();
});
