// What a user saw: Without a token the service hung from its start, answered no probe and ignored SIGTERM.

import { expect, it } from 'vitest';
import { unreadAccount } from '../../support/commands/unread-account.ts';
import { failedList, followerRig, listOf } from '../../support/orders/follower-rig.ts';
import { ScriptedRegistry } from '../../support/platform/scripted-registry.ts';

/**
 * Without a token each list failed at once, from the memory of the token source. Where shards were
 * taken before the first list, the service turned in a loop of promises from its start on: no probe
 * was answered, and SIGTERM was not obeyed.
 */
function begin(list = failedList) {
  const registry = new ScriptedRegistry();
  for (const accountId of ['A', 'B'])
    registry.records.set(`prediction:${accountId}`, unreadAccount(accountId, { stream: 'prediction' }));
  const world = { isOurs: true, refuses: false, loads: 0, begun: [] as string[] };
  const load = registry.load.bind(registry);
  registry.load = async () => {
    world.loads += 1;
    if (world.refuses) throw new Error('the database is away');
    return await load();
  };
  const rig = followerRig({
    ...{ registry, streams: ['prediction'], isOurs: () => world.isOurs },
    onFollow: (_, { accountId }) => void world.begun.push(accountId),
  });
  const { platform } = rig.add('one', list);
  rig.begin();
  return { ...rig, world, platform };
}

it('a review before the first list asks no more often than the backoff does', async () => {
  const { clock, follower, platform } = begin();
  follower.review();
  await clock.advance(60_000);
  expect(platform.lists).toBeGreaterThan(1);
  expect(platform.lists).toBeLessThan(20);
});

it('accounts that become ours while the platform is away are followed, each once', async () => {
  const { clock, follower, world } = begin();
  world.isOurs = false;
  await clock.advance(2_000);
  world.isOurs = true;
  follower.review();
  await clock.advance(10);
  follower.review();
  await clock.advance(60_000);
  expect(world.begun).toEqual(['A', 'B']);
});

it('a review that the database refused is done by the next try, though the platform is away again', async () => {
  const { clock, follower, world, platform } = begin(listOf('A', 'B'));
  world.isOurs = false;
  await clock.advance(1);
  platform.list = failedList;
  world.refuses = true;
  world.isOurs = true;
  follower.review();
  const { loads } = world;
  await clock.advance(200);
  expect(world.begun).toEqual([]);
  expect(world.loads - loads, 'it does not turn on the spot').toBeLessThan(3);
  world.refuses = false;
  await clock.advance(2_000);
  expect(world.begun).toEqual(['A', 'B']);
});
