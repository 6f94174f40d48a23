import { describe, expect, it } from 'vitest';
import { javaPartition } from '../../../src/domain/partition.ts';
import { carriersOf } from '../../../src/service/log/kafkajs/carriers.ts';
import { NotingPartitioner } from '../../../src/service/log/kafkajs/partitioner.ts';

/** By topic, the leader of each partition. */
function cluster(leaders: Readonly<Record<string, readonly number[]>>) {
  return {
    addTargetTopic: async () => undefined,
    findTopicPartitionMetadata: (topic: string) => {
      if (topic === 'not loaded') throw new Error('Topic metadata not loaded');
      return (leaders[topic] ?? []).map((leader, partitionId) => ({ leader, partitionId }));
    },
  };
}

const keyOf = (partition: number, count: number) => {
  for (let n = 0; ; n += 1) if (javaPartition(`key-${n}`, count) === partition) return `key-${n}`;
};
const message = (partition: number, topic = 'updates') => ({ topic, key: keyOf(partition, 4) });

describe('partitions that carry a record to the brokers of a send', () => {
  const updates = [1, 2, 3, 1];

  it.each([
    ['one broker, in whatever partition', { updates: [1, 1, 1, 1], checkpoint: [1] }, [0, 3], [0]],
    ['the first of those that it leads', { updates, checkpoint: [3, 2, 1, 3, 2, 1] }, [0], [2]],
    ['only brokers that get something', { updates, checkpoint: [1, 2, 3] }, [0, 3], [0]],
    ['each broker once', { updates, checkpoint: [1, 2, 3] }, [0, 1, 2, 3], [0, 1, 2]],
  ])('%s', (_, leaders, partitions, carriers) => {
    expect(
      carriersOf(
        cluster(leaders),
        partitions.map((partition) => message(partition)),
        String,
        'checkpoint',
      ),
    ).toEqual(carriers);
  });

  it.each([
    ['a broker that leads none', { updates, checkpoint: [1, 2] }, [0, 2]],
    ['a topic that is not there', { updates }, [0]],
    ['messages whose topic is not known', { checkpoint: [1] }, [0]],
    ['partitions without a leader', { updates: [-1, -1, -1, -1], checkpoint: [-1] }, [0]],
    ['nothing to send', { updates, checkpoint: [1] }, []],
  ])('are not known for %s', (_, leaders, partitions) => {
    const messages = partitions.map((partition) => message(partition));
    expect(carriersOf(cluster(leaders), messages, String, 'checkpoint')).toBeUndefined();
    expect(carriersOf(cluster(leaders), messages, String, 'not loaded')).toBeUndefined();
  });

  it('are refused where a leader changed between the choice and the send', () => {
    const partitioner = new NotingPartitioner();
    const partition = partitioner.create();
    const metadata = (leaders: readonly number[]) =>
      leaders.map((leader, partitionId) => ({ leader, partitionId, partitionErrorCode: 0, replicas: [], isr: [] }));
    const checkpoint = { topic: 'checkpoint', partitionMetadata: metadata([1, 2]) };
    const update = { topic: 'updates', message: { key: keyOf(0, 4), value: '' } };
    expect(partition({ ...checkpoint, message: { key: '3', value: '', partition: 1 } })).toBe(1);
    expect(partition({ ...update, partitionMetadata: metadata([2, 1, 1, 1]) })).toBe(0);
    expect(() => partition({ ...update, partitionMetadata: metadata([1, 1, 1, 1]) })).toThrow('another leader');
    expect(partitioner.sentTo.get('checkpoint')).toEqual(new Set([1]));
    partitioner.reset();
    expect(partition({ ...update, partitionMetadata: metadata([1, 1, 1, 1]) }), 'nothing goes along').toBe(0);
  });
});
