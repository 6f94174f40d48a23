import { expect, it } from 'vitest';
import { readConsumerLag } from '../../../src/service/log/consumer-groups.ts';

const [updates, state] = ['updates', 'state'];
type Admin = Parameters<typeof readConsumerLag>[0];

/** Two partitions of each topic, from 100 to 9007199254740993 and from 0 to 50. */
function adminOf(committed: Readonly<Record<string, Readonly<Record<string, readonly string[]>> | Error>>): Admin {
  return {
    listGroups: async () => ({
      groups: Object.keys(committed).map((groupId) => ({
        groupId,
        protocolType: groupId === 'connect' ? 'connect' : 'consumer',
      })),
    }),
    fetchOffsets: async ({ groupId, topics = [] }) => {
      const of = committed[groupId];
      if (of === undefined || of instanceof Error) throw of;
      return topics.map((topic) => ({
        topic,
        partitions: (of[topic] ?? ['-1', '-1']).map((offset, partition) => ({ partition, offset, metadata: null })),
      }));
    },
    fetchTopicOffsets: async () => [
      { partition: 0, offset: '9007199254740993', low: '100', high: '9007199254740993' },
      { partition: 1, offset: '50', low: '0', high: '50' },
    ],
  };
}

const read = (admin: Admin, maxGroups = 10) =>
  readConsumerLag(admin, { topics: [updates, state], maxGroups, width: 4 });

it('adds up what a group has not committed, to the last offset', async () => {
  const { groups } = await read(adminOf({ risk: { updates: ['9007199254740992', '10'] } }));
  expect(groups).toEqual([{ groupId: 'risk', topics: [{ topic: updates, lag: 41n, partitions: 2, uncommitted: 0 }] }]);
});

it('counts partitions without an offset apart, and no offset that retention has removed', async () => {
  const { groups } = await read(adminOf({ late: { state: ['3', '-1'] } }));
  expect(groups[0]?.topics).toEqual([{ topic: state, lag: 9_007_199_254_740_893n, partitions: 2, uncommitted: 1 }]);
});

it('has no lag below zero where a group committed after the end was read', async () => {
  const { groups } = await read(adminOf({ fast: { state: ['-1', '51'] } }));
  expect(groups[0]?.topics[0]?.lag).toBe(0n);
});

it('leaves out groups of other topics and kinds, and names those whose offsets it may not read', async () => {
  const mine = { updates: ['100', '0'] };
  const result = await read(adminOf({ connect: mine, other: {}, b: mine, a: mine, hidden: new Error('no right') }));
  expect([result.groups.map(({ groupId }) => groupId), result.unread]).toEqual([['a', 'b'], ['hidden']]);
});

it('asks for a bounded number of groups, and says how many it left out', async () => {
  const mine = { updates: ['100', '0'] };
  const { groups, notAsked } = await read(adminOf({ c: mine, a: mine, b: mine }), 2);
  expect([groups.map(({ groupId }) => groupId), notAsked]).toEqual([['a', 'b'], 1]);
});
