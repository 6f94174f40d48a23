import { javaPartition } from '../../../domain/partition.ts';

/** The methods we use from a producer's cluster (kafkajs 2.2.4). */
export interface Metadata {
  addTargetTopic(topic: string): Promise<void>;
  /** Empty, or it throws: not known yet. */
  findTopicPartitionMetadata(topic: string): readonly { readonly partitionId: number; readonly leader: number }[];
}

/** A message, and what its topic is called by the caller. */
interface Sent<Topic> {
  readonly topic: Topic;
  readonly key: string;
}

/**
 * Partitions of `topic`, one for each broker these messages go to, led by it. kafkajs sends one
 * request to each broker, so a record in each partition is in every request. Undefined: not all
 * leaders are known, or one leads no partition of `topic`. `nameOf`: a topic's name on Kafka.
 */
export function carriersOf<Topic>(
  cluster: Metadata,
  messages: readonly Sent<Topic>[],
  nameOf: (topic: Topic) => string,
  topic: Topic,
): readonly number[] | undefined {
  const leaders = new Set<number>();
  const finders = new Map<Topic, (key: string) => number>();
  for (const message of messages) {
    const find = finders.get(message.topic) ?? leaderFinder(cluster, nameOf(message.topic));
    finders.set(message.topic, find);
    leaders.add(find(message.key));
  }
  // Always the same partition of a broker, the first: a reader has the fewest to read.
  const ofLeader = new Map(partitionsOf(cluster, nameOf(topic)).reverse());
  const partitions = [...leaders].flatMap((leader) => (leader < 0 ? [] : (ofLeader.get(leader) ?? [])));
  return partitions.length === 0 || partitions.length < leaders.size ? undefined : partitions;
}

/** The leader of a key's partition; -1: not known. With a single broker no key is hashed. */
function leaderFinder(cluster: Metadata, topic: string): (key: string) => number {
  const known = partitionsOf(cluster, topic);
  const leaders = new Map(known.map(([leader, partition]) => [partition, leader]));
  const [only = -1, ...others] = new Set(leaders.values());
  return others.length === 0 ? () => only : (key) => leaders.get(javaPartition(key, known.length)) ?? -1;
}

function partitionsOf(cluster: Metadata, topic: string): [leader: number, partition: number][] {
  try {
    return cluster.findTopicPartitionMetadata(topic).map(({ partitionId, leader }) => [leader, partitionId]);
  } catch {
    return [];
  }
}
