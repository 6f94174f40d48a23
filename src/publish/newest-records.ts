import { withDeadline } from '../runtime/waiting.ts';
import type { PublishedBatch } from '../store/lane-store.ts';
import type { FollowDeps, TopicRecord } from './follow-topic.ts';
import type { KafkaOptions } from './kafka-options.ts';
import { openKafkaClient } from './kafkajs/kafka-client.ts';
import { readTopic } from './read-topic.ts';
import type { AdminDeps } from './with-admin.ts';

/** The methods that we use of kafkajs 2.2.4's own cluster, which its types hide. */
interface Cluster {
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  addTargetTopic(topic: string): Promise<void>;
  findTopicPartitionMetadata(topic: string): { readonly partitionId: number }[];
  findLeaderForPartitions(topic: string, partitions: readonly number[]): Readonly<Record<string, readonly number[]>>;
  findBroker(by: { readonly nodeId: string }): Promise<Broker>;
  fetchTopicsOffset(
    topics: readonly { topic: string; fromBeginning: boolean; partitions: readonly { partition: number }[] }[],
  ): Promise<{ readonly partitions: readonly { readonly partition: number; readonly offset: string }[] }[]>;
}

interface Broker {
  fetch(request: object): Promise<{ readonly responses: readonly { readonly partitions: readonly FetchedPartition[] }[] }>;
}

interface FetchedPartition {
  readonly partition: number;
  readonly messages: readonly { offset: string; key: Buffer | null; value: Buffer | null; timestamp: string }[];
}

const createCluster = 'private:Kafka:createCluster';
/** The most records that are kept of each partition's last batch: one fetch brings whole batches. */
const mostOfPartition = 20;
const partitionMaxBytes = 1_048_588;

/**
 * The newest records of each partition of a topic, at least the last one: two requests to each leader, a few milliseconds. Rejects when the brokers don't answer
 * within `deadlineMs`.
 *
 * Not a consumer: kafkajs has none without a group, and a broker makes a new group wait for three seconds (`group.initial.rebalance.delay.ms`), which is
 * half of the time that a takeover may take. kafkajs hides its cluster behind a symbol, so the version is pinned and a test reads a real topic.
 */
export async function newestRecords(
  deps: AdminDeps,
  options: KafkaOptions,
  topic: string,
  deadlineMs: number,
): Promise<TopicRecord[]> {
  const client = openKafkaClient(options, deps);
  try {
    return await withDeadline(deps.clock, deadlineMs, `reading the end of ${topic}`, readEnds(clusterOf(client.kafka), topic));
  } finally {
    client.retire();
  }
}

function clusterOf(kafka: object): Cluster {
  const symbol = Object.getOwnPropertySymbols(kafka).find(({ description }) => description === createCluster);
  const create = symbol && (kafka as Record<symbol, unknown>)[symbol];
  if (typeof create !== 'function') throw new Error('kafkajs: its cluster is gone; see src/publish/newest-records.ts');
  return create({ allowAutoTopicCreation: false, isolationLevel: 0 }) as Cluster;
}

async function readEnds(cluster: Cluster, topic: string): Promise<TopicRecord[]> {
  await cluster.connect();
  await cluster.addTargetTopic(topic);
  const partitions = cluster.findTopicPartitionMetadata(topic).map(({ partitionId: partition }) => ({ partition }));
  const offsets = async (fromBeginning: boolean) => {
    const [found] = await cluster.fetchTopicsOffset([{ topic, fromBeginning, partitions }]);
    return new Map(found?.partitions.map(({ partition, offset }) => [partition, BigInt(offset)]));
  };
  const [low, high] = await Promise.all([offsets(true), offsets(false)]);
  const last = new Map([...high].filter(([partition, end]) => end > (low.get(partition) ?? 0n)));
  const byLeader = Object.entries(cluster.findLeaderForPartitions(topic, [...last.keys()]));
  const fetched = await Promise.all(byLeader.map(([nodeId, of]) => fetchFrom(cluster, nodeId, topic, of, last)));
  await cluster.disconnect();
  return fetched.flat();
}

async function fetchFrom(
  cluster: Cluster,
  nodeId: string,
  topic: string,
  partitions: readonly number[],
  ends: ReadonlyMap<number, bigint>,
): Promise<TopicRecord[]> {
  const broker = await cluster.findBroker({ nodeId });
  const { responses } = await broker.fetch({
    replicaId: -1,
    isolationLevel: 0,
    maxWaitTime: 500,
    minBytes: 1,
    maxBytes: partitionMaxBytes * partitions.length,
    topics: [
      {
        topic,
        partitions: partitions.map((partition) => ({
          partition,
          fetchOffset: String((ends.get(partition) ?? 1n) - 1n),
          maxBytes: partitionMaxBytes,
        })),
      },
    ],
  });
  return responses.flatMap((response) =>
    response.partitions.flatMap(({ partition, messages }) =>
      messages.slice(-mostOfPartition).map(({ offset, key, value, timestamp }) => ({
        partition,
        offset: BigInt(offset),
        key: key?.toString() ?? '',
        value: value?.toString(),
        timestampMs: Number(timestamp),
      })),
    ),
  );
}

/** Consumers order the updates of one order by generation first, then by revision. */
export interface UpdatePosition {
  readonly generation: number;
  readonly revision: number;
}

/** The head of every payload, as `encodeUpdate` writes it. A full parse takes 10 µs, this 1 µs: a whole topic is read for two numbers of each record. */
const head =
  /^\{"eventId":"(?:[^"\\]|\\.)*","schema":"[^"]*","generation":(\d{1,9}),"stream":"[a-z]+","orderId":"(?:[^"\\]|\\.)*","accountId":"(?:[^"\\]|\\.)*","revision":(\d{1,15})[,}]/;

/** The position of an update among those of its order; undefined: it is not an update of ours. */
export function updatePosition(value: string): UpdatePosition | undefined {
  const found = head.exec(value);
  return found === null ? undefined : { generation: Number(found[1]), revision: Number(found[2]) };
}

/** The proof of a mark, as `encodeContinuity` writes it. */
const proof = /,"proof":\{"lane":(\d{1,9}),"generation":(\d{1,9}),"upTo":"(\d{1,19})",/;

/** The batch with which a mark was committed: its proof ends with the batch before. Undefined: it is no mark of ours, or has no proof. */
export function batchOfMark(value: string): PublishedBatch | undefined {
  const [, lane, generation, upTo] = proof.exec(value) ?? [];
  return upTo === undefined ? undefined : { lane: Number(lane), generation: Number(generation), batch: BigInt(upTo) + 1n };
}

/** Above 0: `a` is newer. */
export function comparePositions(a: UpdatePosition, b: UpdatePosition): number {
  return a.generation - b.generation || a.revision - b.revision;
}

/**
 * The highest generation that is on the state topic; 0 where the topic is empty. Reads the whole topic, about a minute for a million orders. It does not read
 * the topic of updates: that one is many times as long, and the state topic has its newest records a second later. Rejects when the topic can't be read.
 */
export async function highestGeneration(deps: FollowDeps, kafka: KafkaOptions, stateTopic: string): Promise<number> {
  const failed = new AbortController();
  let failure: unknown;
  let highest = 0;
  const records = readTopic(deps, {
    kafka,
    topic: stateTopic,
    from: 'beginning',
    until: 'end',
    readCommitted: true,
    signal: failed.signal,
    onFailure: (error) => {
      failure = error;
      failed.abort();
    },
  });
  for await (const { value } of records) {
    const found = updatePosition(value ?? '')?.generation ?? 0;
    if (found > highest) highest = found;
  }
  if (failure !== undefined) throw failure;
  return highest;
}
