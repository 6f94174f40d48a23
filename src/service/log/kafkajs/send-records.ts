import { javaPartition } from '../../../domain/partition.ts';
import type { Clock } from '../../../runtime/clock.ts';
import type { KafkaOptions } from '../kafka-options.ts';
import { PublishError, type PublishRow } from '../publisher.ts';
import type { ProduceBody } from './encode-produce.ts';
import { type Broker, type Part, produceTo } from './lean-produce.ts';

/** The part of a kafkajs 2.2.4 cluster that a producer needs. */
export interface Cluster {
  readonly targetTopics: ReadonlySet<string>;
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  /** Rejects for a missing topic, and goes on without it. */
  addMultipleTargetTopics(topics: readonly string[]): Promise<void>;
  refreshMetadataIfNecessary(): Promise<void>;
  findTopicPartitionMetadata(topic: string): readonly { readonly partitionId: number; readonly leader: number }[];
  findBroker(of: { readonly nodeId: number }): Promise<Broker>;
}

/** Asks for the leaders of these topics, if they are not known or too old. */
export async function refreshLeaders(cluster: Cluster, topics: Iterable<string>): Promise<void> {
  const unknown = [...topics].filter((topic) => !cluster.targetTopics.has(topic));
  if (unknown.length > 0) await cluster.addMultipleTargetTopics(unknown);
  await cluster.refreshMetadataIfNecessary();
}

/**
 * The leader of each partition, as known now; -1: none. `planned`: partitions by topic; one without
 * an entry may have any count.
 *
 * Refuses a topic with another count of partitions than planned. With another count, keys go to
 * other partitions: the sequence of an order's updates was promised for the topic's life, and would
 * be lost silently. Only a send sees the count in use: readiness asks at intervals, and may ask
 * other brokers.
 */
export function leadersOf(
  cluster: Pick<Cluster, 'findTopicPartitionMetadata'>,
  topic: string,
  planned: ReadonlyMap<string, number> | undefined,
): readonly number[] {
  const known = cluster.findTopicPartitionMetadata(topic);
  const count = known.length;
  if (count === 0) throw new PublishError('unknown_topic', `the leaders of ${topic} are not known`);
  if (count !== (planned?.get(topic) ?? count))
    throw new PublishError('wrong_partitions', `${topic} has ${count} partitions, planned are ${planned?.get(topic)}`);
  const leaders = Array.from(known, () => -1);
  for (const { partitionId, leader } of known) leaders[partitionId] = leader;
  return leaders;
}

const partOf = (topic: string, partition: number, leader = -1, records: Part['records'] = []): Part => ({
  topic,
  partition,
  leader,
  firstSequence: 0,
  records,
  acknowledged: false,
});

/**
 * Rows by partition, in order. The partition is that of the Java client, so that other producers
 * and stream joins agree with us. `leadersOf`: by a topic's name on Kafka.
 */
export function partsOf<Row extends PublishRow>(
  rows: readonly Row[],
  nameOf: (topic: Row['topic']) => string,
  leadersOf: (name: string) => readonly number[],
): Part[] {
  const topics = new Map<Row['topic'], { name: string; leaders: readonly number[]; parts: Part[] }>();
  for (const row of rows) {
    let known = topics.get(row.topic);
    if (known === undefined) {
      const name = nameOf(row.topic);
      known = { name, leaders: leadersOf(name), parts: [] };
      topics.set(row.topic, known);
    }
    const { name, leaders, parts } = known;
    const partition = javaPartition(row.key, leaders.length);
    const part = parts[partition] ?? partOf(name, partition, leaders[partition]);
    parts[partition] = part;
    part.records.push(row);
  }
  return [...topics.values()].flatMap(({ parts }) => parts.flat());
}

/**
 * The row, once for each of the parts' brokers, in a partition led by it. A broker gets one
 * request, so the row is in every request. Undefined: a broker leads none.
 */
export function carriersOf(
  row: PublishRow,
  name: string,
  leaders: readonly number[],
  parts: readonly Part[],
): Part[] | undefined {
  // Always the same partition of a broker, the first: a reader has the fewest to read.
  const carriers = Array.from(new Set(parts.map(({ leader }) => leader)), (leader) =>
    partOf(name, leaders.indexOf(leader), leader, [row]),
  );
  return carriers.every(({ partition, leader }) => partition >= 0 && leader >= 0) ? carriers : undefined;
}

/** One request to each leader. Resolves once each has acknowledged all of its parts. */
export async function produce(
  cluster: Cluster,
  parts: readonly Part[],
  head: Parameters<typeof produceTo>[2],
): Promise<void> {
  const brokers = Array.from(
    Map.groupBy(parts, ({ leader }) => leader),
    async ([nodeId, ofBroker]) => ({
      broker: await cluster.findBroker({ nodeId }),
      ofBroker,
    }),
  );
  const requests = await Promise.all(brokers);
  await Promise.all(requests.map(({ broker, ofBroker }) => produceTo(broker, ofBroker, head)));
}

/** The broker gives up waiting for its replicas before we give up waiting for it. */
export function timesOf(
  { requestTimeoutMs }: Pick<KafkaOptions, 'requestTimeoutMs'>,
  clock: Pick<Clock, 'nowMs'>,
): Pick<ProduceBody, 'timeoutMs' | 'timestampMs'> {
  return { timeoutMs: requestTimeoutMs - 500, timestampMs: BigInt(Math.trunc(clock.nowMs())) };
}

/** An idempotent producer has others. */
export const notIdempotent: Pick<ProduceBody, 'transactionalId' | 'producerId' | 'producerEpoch'> = {
  transactionalId: null,
  producerId: -1n,
  producerEpoch: 0,
};
