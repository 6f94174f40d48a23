import { hiddenCluster } from './kafkajs/hidden-cluster.ts';

/** Reads a topic's ends: a part hidden by kafkajs 2.2.4's types. */
export interface EndsCluster {
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  addTargetTopic(topic: string): Promise<void>;
  findTopicPartitionMetadata(topic: string): { readonly partitionId: number }[];
  fetchTopicsOffset(
    topics: readonly { topic: string; fromBeginning: boolean; partitions: readonly { partition: number }[] }[],
  ): Promise<{ readonly partitions: readonly { readonly partition: number; readonly offset: string }[] }[]>;
}

type Ends = Record<'low' | 'high', ReadonlyMap<number, bigint>>;

/**
 * Asks for the high watermark. kafkajs's admin asks for the last stable offset: an open transaction
 * would hide everything above it.
 */
export function openCluster<Methods extends EndsCluster>(kafka: object): Methods {
  return hiddenCluster<Methods>(kafka, { allowAutoTopicCreation: false, isolationLevel: 0 });
}

/** Each partition's first offset, and the one behind its last. */
export async function topicEnds(cluster: EndsCluster, topic: string): Promise<Ends> {
  await cluster.addTargetTopic(topic);
  const partitions = cluster.findTopicPartitionMetadata(topic).map(({ partitionId: partition }) => ({ partition }));
  const offsets = async (fromBeginning: boolean) => {
    const [found] = await cluster.fetchTopicsOffset([{ topic, fromBeginning, partitions }]);
    return new Map(found?.partitions.map(({ partition, offset }) => [partition, BigInt(offset)]));
  };
  const [low, high] = await Promise.all([offsets(true), offsets(false)]);
  return { low, high };
}
