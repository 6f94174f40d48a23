import { describe, expect, it } from 'vitest';
import { javaPartition } from '../../../src/domain/partition.ts';
import {
  type Cluster,
  carriersOf,
  leadersOf,
  notIdempotent,
  partsOf,
  produce,
  refreshLeaders,
} from '../../../src/service/log/kafkajs/send-records.ts';
import type { PublishRow } from '../../../src/service/log/publisher.ts';
import { answerOf, scriptedBroker } from './scripted-broker.ts';

/** By topic, the leader of each partition. */
type Leading = Readonly<Record<string, readonly number[]>>;

const metadata = (leading: Leading) => ({
  findTopicPartitionMetadata: (topic: string) =>
    (leading[topic] ?? []).map((leader, partitionId) => ({ leader, partitionId })),
});

const keyOf = (partition: number, count: number) => {
  for (let n = 0; ; n += 1) if (javaPartition(`key-${n}`, count) === partition) return `key-${n}`;
};
const row = (partition: number): PublishRow => ({ topic: 'updates', key: keyOf(partition, 4), payload: 'p' });
const checkpoint = { topic: 'checkpoint', key: '3', payload: 'w' } as const;
const all = [0, 1, 2, 3].map(row);
const partsWith = (leading: Leading, rows: readonly PublishRow[]) =>
  partsOf(rows, String, (name) => leadersOf(metadata(leading), name, undefined));

describe('the leaders of a topic', () => {
  it('are those of now, by partition, in whatever order they are named', () => {
    const known = [
      { leader: 5, partitionId: 2 },
      { leader: 7, partitionId: 0 },
      { leader: 6, partitionId: 1 },
    ];
    expect(leadersOf({ findTopicPartitionMetadata: () => known }, 'updates', undefined)).toEqual([7, 6, 5]);
  });

  it.each([
    ['a topic that is not known', 'unknown_topic', {}, 'state'],
    ['another count than planned', 'wrong_partitions', { updates: [1, 1, 1] }, 'updates'],
  ])('are refused for %s', (_, code, leading, topic) => {
    const planned = new Map([['updates', 4]]);
    expect(() => leadersOf(metadata(leading), topic, planned)).toThrow(expect.objectContaining({ code }));
  });
});

describe('partitions that carry a record to the brokers of a send', () => {
  const updates = [1, 2, 3, 1];

  it.each([
    ['one broker, in whatever partition', { updates: [1, 1, 1, 1], checkpoint: [1] }, [0, 3], [0]],
    ['the first of those that it leads', { updates, checkpoint: [3, 2, 1, 3, 2, 1] }, [0], [2]],
    ['only brokers that get something', { updates, checkpoint: [1, 2, 3] }, [0, 3], [0]],
    ['each broker once', { updates, checkpoint: [1, 2, 3] }, [0, 1, 2, 3], [0, 1, 2]],
  ])('%s', (_, leading, partitions, expected) => {
    const parts = partsWith(leading, partitions.map(row));
    const carriers = carriersOf(checkpoint, 'checkpoint', leading.checkpoint, parts);
    expect(carriers?.map(({ partition }) => partition)).toEqual(expected);
    expect(new Set(carriers?.map(({ leader }) => leader))).toEqual(new Set(parts.map(({ leader }) => leader)));
    for (const { topic, records } of carriers ?? [])
      expect({ topic, records }).toEqual({ topic: 'checkpoint', records: [checkpoint] });
  });

  it.each([
    ['a broker leads none', { updates, checkpoint: [1, 2] }, [0, 2]],
    ['partitions have no leader', { updates: [-1, -1, -1, -1], checkpoint: [-1] }, [0]],
  ])('are not there where %s', (_, leading, partitions) => {
    expect(
      carriersOf(checkpoint, 'checkpoint', leading.checkpoint, partsWith(leading, partitions.map(row))),
    ).toBeUndefined();
  });
});

/** Brokers that answer for what they lead by `truth`, and a client that believes `leading`. */
function cluster(leading: Leading, acks: (broker: number) => Parameters<typeof answerOf>[0] | undefined) {
  const brokers = new Map(
    [1, 2, 3].map((id) => {
      const given = acks(id);
      return [id, scriptedBroker(given && answerOf(given))];
    }),
  );
  const findBroker: Cluster['findBroker'] = async ({ nodeId }) => {
    const found = brokers.get(nodeId);
    if (found === undefined) throw new Error(`broker ${nodeId} is not there`);
    return found;
  };
  const sends = () => [...brokers.values()].map(({ sent }) => sent.length);
  return { ...metadata(leading), findBroker, sends } as unknown as Cluster & { readonly sends: () => number[] };
}

const head = { ...notIdempotent, timeoutMs: 4500, timestampMs: 1n };
const ack = (partition: number, errorCode = 0) => ({ topic: 'updates', partition, errorCode });
const acksBy = (answers: Readonly<Record<number, ReturnType<typeof ack>[]>>) => (broker: number) => answers[broker];

describe('a send', () => {
  const leading = { updates: [1, 2, 2, 1] };

  it('is one request to each leader, and is there once each has all of its parts', async () => {
    const to = cluster(leading, acksBy({ 1: [ack(3), ack(0)], 2: [ack(1), ack(2)] }));
    const parts = partsWith(leading, [...all, ...all]);
    expect(parts.map(({ records }) => records.length)).toEqual([2, 2, 2, 2]);
    await produce(to, parts, head);
    expect(parts.every(({ acknowledged }) => acknowledged)).toBe(true);
    expect(to.sends()).toEqual([1, 1, 0]);
  });

  it.each([
    ['a partition is missing', [ack(0)], 'missing_ack', [0, 1, 2]],
    ['a partition answered an error', [ack(0), ack(3, 6)], 'NOT_LEADER_FOR_PARTITION', [0, 1, 2]],
    ['nothing was answered', [], 'missing_ack', [1, 2]],
    ['another topic answered', [ack(0), { ...ack(3), topic: 'state' }], 'missing_ack', [0, 1, 2]],
    ['another partition answered', [ack(0), ack(13)], 'missing_ack', [0, 1, 2]],
  ])('is refused when %s, and knows which partitions have theirs', async (_, answer, code, taken) => {
    const parts = partsWith(leading, all);
    const send = produce(cluster(leading, acksBy({ 1: answer, 2: [ack(1), ack(2)] })), parts, head);
    await expect(send).rejects.toSatisfy(
      (error: { code?: unknown; type?: unknown }) => (error.type ?? error.code) === code,
    );
    expect(parts.flatMap(({ partition, acknowledged }) => (acknowledged ? [partition] : []))).toEqual(taken);
  });

  it('reaches no broker where one of its leaders is not there', async () => {
    const gone = { updates: [1, -1, 2, 1] };
    const to = cluster(gone, acksBy({ 1: [ack(0), ack(3)], 2: [ack(2)] }));
    await expect(produce(to, partsWith(gone, all), head)).rejects.toThrow('broker -1 is not there');
    expect(to.sends()).toEqual([0, 0, 0]);
  });

  it('goes to the leaders of now: nothing of the send before is kept', () => {
    const known = { updates: [1, 2, 2, 1] };
    expect(partsWith(known, all).map(({ leader }) => leader)).toEqual([1, 2, 2, 1]);
    known.updates = [3, 3, 3, 1];
    expect(partsWith(known, all).map(({ leader }) => leader)).toEqual([3, 3, 3, 1]);
  });

  it('asks for topics that are new to it, and for all that is too old before each send', async () => {
    const asked: string[] = [];
    const targetTopics = new Set(['updates']);
    const to = {
      targetTopics,
      addMultipleTargetTopics: async (topics: readonly string[]) => void asked.push(`new ${topics}`),
      refreshMetadataIfNecessary: async () => void asked.push('old'),
    } as unknown as Cluster;
    await refreshLeaders(to, ['updates', 'watermarks']);
    await refreshLeaders(to, ['updates']);
    expect(asked).toEqual(['new watermarks', 'old', 'old']);
  });
});
