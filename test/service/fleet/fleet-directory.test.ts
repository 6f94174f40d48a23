import { describe, expect, it } from 'vitest';
import { FleetDirectory } from '../../../src/service/fleet/fleet-directory.ts';
import type { Fleet } from '../../../src/store/fleet/shard-store.ts';

const member = { weight: 1, livedMs: 60_000, version: '1', draining: false, drained: false };
const assignment = { pinned: false, epoch: 1n, sinceMs: 9_000 };
const fleet: Fleet = {
  members: [
    { ...member, lane: 0, holder: 'me', address: 'http://me' },
    { ...member, lane: 1, holder: 'other', address: 'http://other' },
    { ...member, lane: 3, holder: 'silent', address: undefined },
  ],
  assignments: [
    { ...assignment, shard: 0, lane: 0 },
    { ...assignment, shard: 1, lane: 1 },
    { ...assignment, shard: 2, lane: 2 },
    { ...assignment, shard: 3, lane: undefined },
    { ...assignment, shard: 4, lane: 3 },
  ],
  orphans: [{ lane: 2, idleMs: 12_000 }],
};
const directory = (now: Fleet | undefined = fleet, holds: readonly number[] = []) =>
  new FleetDirectory({
    fleet: () => now,
    held: { shardOf: (accountId) => Number(accountId), has: (shard) => holds.includes(shard) },
    holder: 'me',
  });

it('names the process that holds an account, unless it is this one, none, or has no address', () => {
  const holders = ['0', '1', '2', '3', '4'].map((accountId) => directory().holderOf(accountId)?.instance);
  expect(holders).toEqual([undefined, 'other', undefined, undefined, undefined]);
  expect(directory().all()).toEqual([{ instance: 'other', address: 'http://other' }]);
});

it('counts the shards that no live process holds, since the first of them', () => {
  expect(directory().standing(100_000)).toMatchObject({ others: 2, unassigned: { rows: 2, oldestMs: 88_000 } });
});

describe('issue: A process that had taken all shards said for seconds that their accounts had none.', () => {
  it('a shard that this process has taken since the last look counts as held', () => {
    const free = fleet.assignments.filter(({ lane }) => lane === undefined).map(({ shard }) => shard);
    expect(directory(fleet, free).standing(100_000).unassigned.rows).toBe(1);
    expect(directory(fleet, [0, 1, 2, 3, 4]).standing(100_000).unassigned).toEqual({ rows: 0 });
  });
});

it('tells why this process has given its shards away', () => {
  const standing = (over: Partial<Fleet['members'][number]>) => {
    const members = fleet.members.map((member) => (member.holder === 'me' ? { ...member, ...over } : member));
    return directory({ ...fleet, members }).standing(100_000);
  };
  expect(standing({})).toMatchObject({ drained: false, unhealthy: undefined });
  expect(standing({ drained: true })).toMatchObject({ drained: true, unhealthy: undefined });
  expect(standing({ unwell: { trouble: 'loop_late', unhealthy: true } })).toMatchObject({
    drained: false,
    unhealthy: 'loop_late',
  });
  expect(standing({ unwell: { trouble: 'loop_late', unhealthy: false } }).unhealthy).toBeUndefined();
});

it('knows of no other before the first look', () => {
  const none = new FleetDirectory({
    fleet: () => undefined,
    held: { shardOf: () => 0, has: () => false },
    holder: 'me',
  });
  expect([none.holderOf('0'), none.all()]).toEqual([undefined, []]);
  expect(none.standing(100_000)).toMatchObject({ others: 0, unassigned: { rows: 0 } });
});
