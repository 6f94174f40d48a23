import { describe, expect, it } from 'vitest';
import { judgeOrder, type OnTopics } from '../../../src/cli/verify/judge-order.ts';
import { TopicFold } from '../../../src/cli/verify/topic-fold.ts';
import type { AuditedOrder } from '../../../src/store/commands/audit-reads.ts';
import { sampleUpdate } from '../../support/orders/sample-update.ts';

const order: AuditedOrder = {
  stream: 'account',
  orderId: 'o-1',
  revision: 5,
  newest: { lane: 0, seq: 50n, revision: 5, generation: 2, recordedMs: 1_000 },
  holes: 0,
  stateless: false,
};
const at = { generation: 2, revision: 5 };
const whole: OnTopics = {
  updates: at,
  state: at,
  hole: undefined,
  keptSinceMs: 0,
  acknowledged: { log: undefined, state: undefined },
};

const hops = (over: Partial<AuditedOrder>, topics: Partial<OnTopics> = {}) =>
  judgeOrder({ ...order, ...over }, { ...whole, ...topics }).map(({ hop }) => hop);

describe('an order is', () => {
  it.each<[string, string[], Partial<AuditedOrder>, Partial<OnTopics>]>([
    ['whole', [], {}, {}],
    ['behind on the state topic', ['state'], {}, { state: { generation: 2, revision: 4 } }],
    ['not on the state topic', ['state'], {}, { state: undefined }],
    [
      'behind by its generation alone',
      ['updates', 'state'],
      {},
      { updates: { generation: 1, revision: 9 }, state: { generation: 1, revision: 9 } },
    ],
    ['not on the topic of updates', ['updates'], {}, { updates: undefined }],
    ['older than the topic of updates goes back', [], {}, { updates: undefined, keptSinceMs: 1_001 }],
    ['on a topic of updates that was not read', [], {}, { updates: undefined, keptSinceMs: undefined }],
    [
      'waiting for the relay',
      ['relay', 'relay'],
      {},
      { updates: undefined, state: undefined, acknowledged: { log: 49n, state: 49n } },
    ],
    [
      'missing behind what the relay acknowledged',
      ['updates'],
      {},
      { updates: undefined, acknowledged: { log: 50n, state: 50n } },
    ],
    ['skipped on the topic', ['updates'], {}, { hole: 3 }],
    ['newer on Kafka', ['database'], {}, { state: { generation: 2, revision: 6 } }],
    ['newer on Kafka by its generation', ['database'], {}, { updates: { generation: 3, revision: 1 } }],
    ['behind the log', ['log'], { revision: 4 }, {}],
    ['full of holes', ['log'], { holes: 2 }, {}],
  ])('%s: %j', (_, expected, over, topics) => {
    expect(hops(over, topics)).toEqual(expected);
  });

  it('compared by its revision where retention took its rows', () => {
    const { newest: _, ...old } = order;
    const judge = (revision: number) =>
      judgeOrder(old, { ...whole, state: { generation: 1, revision }, updates: undefined });
    expect(judge(5)).toEqual([]);
    expect(judge(4)).toMatchObject([{ hop: 'state' }]);
    expect(judge(6)).toMatchObject([{ hop: 'database' }]);
  });
});

describe('a topic', () => {
  const place = { partition: 0, offset: 0n, key: 'account:o-1', timestampMs: 1 };
  const take = (byPlace: boolean, revisions: readonly number[]) => {
    const fold = new TopicFold({ byPlace });
    for (const revision of revisions)
      fold.addRecord({ ...place, value: sampleUpdate({ orderId: 'o-1', revision }), timestampMs: revision });
    return { revision: fold.newest.get('account:o-1')?.revision, hole: fold.holes.get('account:o-1') };
  };

  it('says since when it kept everything, where its first records are gone', () => {
    const fold = new TopicFold({ byPlace: false });
    fold.addRecord({ ...place, value: '', timestampMs: 9 });
    expect(fold.keptSinceMs).toBe(0);
    fold.addRecord({ ...place, partition: 1, offset: 5n, value: '', timestampMs: 7 });
    fold.addRecord({ ...place, partition: 1, offset: 6n, value: '', timestampMs: 8 });
    expect(fold.keptSinceMs).toBe(7);
  });

  it('that is compacted keeps what stands last', () => {
    expect(take(true, [1, 3, 2])).toEqual({ revision: 2, hole: undefined });
  });

  it('of updates keeps the highest, whatever is repeated, and a skipped revision is seen', () => {
    expect(take(false, [4, 5, 4, 5, 6])).toEqual({ revision: 6, hole: undefined });
    expect(take(false, [4, 6])).toEqual({ revision: 6, hole: 5 });
  });

  it.each([
    ['a tombstone', undefined, 'tombstone'],
    ['a foreign record', '{}', 'foreign'],
  ] as const)('that is compacted has %s in place of the state before it, until the next state', (_, value, kind) => {
    const fold = new TopicFold({ byPlace: true });
    const state = sampleUpdate({ orderId: 'o-1', revision: 5 });
    fold.addRecord({ ...place, value: state });
    fold.addRecord({ ...place, offset: 1n, value });
    expect([fold.newest.size, fold.strays.get('account:o-1')]).toEqual([0, { kind, partition: 0, offset: 1n }]);
    fold.addRecord({ ...place, offset: 2n, value: state });
    expect([fold.newest.size, fold.strays.size]).toEqual([1, 0]);
  });

  it('lists a bounded number of strays, and counts the rest', () => {
    const fold = new TopicFold({ byPlace: false });
    for (let i = 0; i < 1_500; i += 1) fold.addRecord({ ...place, key: `k-${i % 1_200}`, value: 'x' });
    expect([fold.strays.size, fold.unlistedStrays]).toEqual([1_000, 200]);
  });

  it('may hold what is none of ours', () => {
    const fold = new TopicFold({ byPlace: false });
    for (const value of [undefined, '', '{}', '{"eventId":"a","revision":5}']) fold.addRecord({ ...place, value });
    expect([fold.records, fold.newest.size]).toEqual([0, 0]);
  });
});
