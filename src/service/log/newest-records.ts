import { withDeadline } from '../../runtime/waiting.ts';
import type { PublishedBatch } from '../../store/fleet/lane-store.ts';
import type { FollowDeps, TopicRecord } from './follow-topic.ts';
import type { KafkaOptions } from './kafka-options.ts';
import { openKafkaClient } from './kafkajs/kafka-client.ts';
import { readTopic } from './read-topic.ts';
import { type EndsCluster, openCluster, topicEnds } from './topic-ends.ts';
import type { AdminDeps } from './with-admin.ts';
import { decodeWitness, highest, type LaneWitness, mergeWitness } from './witness-writer.ts';

interface Cluster extends EndsCluster {
  findLeaderForPartitions(topic: string, partitions: readonly number[]): Readonly<Record<string, readonly number[]>>;
  findBroker(by: { readonly nodeId: string }): Promise<Broker>;
}

interface Broker {
  fetch(
    request: object,
  ): Promise<{ readonly responses: readonly { readonly partitions: readonly FetchedPartition[] }[] }>;
}

interface FetchedPartition {
  readonly partition: number;
  readonly messages: readonly {
    readonly offset: string;
    readonly key: Buffer | null;
    readonly value: Buffer | null;
    readonly timestamp: string;
    /** The end of a transaction, which has an offset and is no record. */
    readonly isControlRecord?: boolean;
  }[];
}

/** The most records kept from each partition's last batch: one fetch brings whole batches. */
const mostOfPartition = 20;
const partitionMaxBytes = 1_048_588;

/**
 * Each partition's newest records: two requests to each leader, a few milliseconds; a third where
 * the last offset is the end of a transaction, which is no record. At least the last record, unless
 * the last 20 offsets have none, or more than a fetch takes. Rejects when the brokers don't answer
 * within `deadlineMs`; any one broker is enough to begin with.
 *
 * Not a consumer: kafkajs has none without a group, and a broker makes a new group wait for three
 * seconds (`group.initial.rebalance.delay.ms`). A takeover may take only twice that time.
 */
export async function newestRecords(
  deps: AdminDeps,
  options: KafkaOptions,
  topic: string,
  deadlineMs: number,
): Promise<TopicRecord[]> {
  return await asking(deps, options, topic, deadlineMs, (cluster) => readEnds(cluster, topic));
}

async function asking<T>(
  deps: AdminDeps,
  options: KafkaOptions,
  topic: string,
  deadlineMs: number,
  work: (cluster: Cluster) => Promise<T>,
): Promise<T> {
  const { clock } = deps;
  const what = `reading the end of ${topic}`;
  const untilMs = clock.monotonicMs() + deadlineMs;
  const leftMs = () => Math.max(1, untilMs - clock.monotonicMs());
  for (let attempt = 0; ; attempt += 1) {
    const client = openKafkaClient(options, deps, attempt);
    const isLast = attempt + 1 >= options.brokers.length;
    try {
      const cluster = openCluster<Cluster>(client.kafka);
      try {
        // A mute broker leaves half the time to the others.
        await withDeadline(clock, isLast ? leftMs() : leftMs() / 2, what, cluster.connect());
      } catch (err) {
        if (isLast) throw err;
        continue;
      }
      return await withDeadline(clock, leftMs(), what, work(cluster));
    } finally {
      client.retire();
    }
  }
}

/**
 * Reads new records on the witness topic, for one process: the first read takes the whole topic,
 * each further one the records since. A late read's records are kept, so the next read goes on
 * there.
 */
export class WitnessReader {
  /** By partition: the first record that was not read yet. */
  private readonly next = new Map<number, bigint>();
  private readonly newest = new Map<number, LaneWitness>();
  private last: Promise<unknown> = Promise.resolve();
  private readonly deps: AdminDeps;
  private readonly options: { readonly kafka: KafkaOptions; readonly topic: string; readonly deadlineMs: number };

  constructor(
    deps: AdminDeps,
    options: { readonly kafka: KafkaOptions; readonly topic: string; readonly deadlineMs: number },
  ) {
    this.deps = deps;
    this.options = options;
  }

  /**
   * All witnesses on the topic at the moment of the call, by lane. Rejects when the brokers don't
   * answer in time.
   */
  read(): Promise<readonly LaneWitness[]> {
    const { kafka, topic, deadlineMs } = this.options;
    const read = this.last.then(() => asking(this.deps, kafka, topic, deadlineMs, (cluster) => this.readOn(cluster)));
    this.last = read.catch(() => undefined);
    return read;
  }

  private async readOn(cluster: Cluster): Promise<readonly LaneWitness[]> {
    const { topic } = this.options;
    const { low, high } = await topicEnds(cluster, topic);
    // The topic was deleted and made again.
    if ([...this.next].some(([partition, next]) => next > (high.get(partition) ?? 0n))) this.forget();
    for (const [partition, first] of low) if ((this.next.get(partition) ?? 0n) < first) this.next.set(partition, first);
    await Promise.all(byLeader(cluster, topic, high).map(([leader, ends]) => this.readOf(cluster, leader, ends)));
    await cluster.disconnect();
    return [...this.newest.values()];
  }

  /** The partitions that one broker leads, up to these ends. */
  private async readOf(cluster: Cluster, leader: string, ends: ReadonlyMap<number, bigint>): Promise<void> {
    const nextOf = (partition: number) => this.next.get(partition) ?? 0n;
    for (;;) {
      const left = [...ends].filter(([partition, end]) => nextOf(partition) < end);
      if (left.length === 0) return;
      const from = new Map(left.map(([partition]) => [partition, nextOf(partition)]));
      const records = await fetchFrom(cluster, leader, this.options.topic, from);
      const news = records.filter(({ partition, offset }) => offset >= nextOf(partition));
      for (const { partition, offset, value = '' } of news) {
        this.take(value);
        this.next.set(partition, offset + 1n);
      }
      // Compaction may have left nothing between here and the end.
      if (news.length === 0) for (const [partition, end] of left) this.next.set(partition, end);
    }
  }

  private take(value: string): void {
    const witness = decodeWitness(value);
    if (witness !== undefined) this.newest.set(witness.lane, mergeWitness(this.newest.get(witness.lane), witness));
  }

  private forget(): void {
    this.next.clear();
    this.newest.clear();
  }
}

/** The offsets of each leader's partitions. */
function byLeader(
  cluster: Cluster,
  topic: string,
  offsets: ReadonlyMap<number, bigint>,
): (readonly [leader: string, offsets: ReadonlyMap<number, bigint>])[] {
  const leaders = Object.entries(cluster.findLeaderForPartitions(topic, [...offsets.keys()]));
  return leaders.map(([leader, of]) => [leader, new Map(of.map((one) => [one, offsets.get(one) ?? 0n]))]);
}

async function readEnds(cluster: Cluster, topic: string): Promise<TopicRecord[]> {
  const { low, high } = await topicEnds(cluster, topic);
  const lowOf = (partition: number) => low.get(partition) ?? 0n;
  const readBack = async (offsets: bigint, ends: ReadonlyMap<number, bigint>): Promise<TopicRecord[]> => {
    const from = new Map(
      Array.from(ends, ([partition, end]) => [partition, highest(end - offsets, lowOf(partition))] as const),
    );
    const fetched = await Promise.all(
      byLeader(cluster, topic, from).map(([leader, of]) => fetchFrom(cluster, leader, topic, of)),
    );
    return fetched.flat().flatMap(({ isEnd, ...record }) => (isEnd ? [] : [record]));
  };
  const filled = new Map([...high].filter(([partition, end]) => end > lowOf(partition)));
  const found = await readBack(1n, filled);
  const seen = new Set(found.map(({ partition }) => partition));
  const unseen = new Map([...filled].filter(([partition]) => !seen.has(partition)));
  if (unseen.size > 0) found.push(...(await readBack(BigInt(mostOfPartition), unseen)));
  await cluster.disconnect();
  return [...Map.groupBy(found, ({ partition }) => partition).values()].flatMap((of) => of.slice(-mostOfPartition));
}

async function fetchFrom(
  cluster: Cluster,
  nodeId: string,
  topic: string,
  from: ReadonlyMap<number, bigint>,
): Promise<(TopicRecord & { readonly isEnd: boolean })[]> {
  const broker = await cluster.findBroker({ nodeId });
  const { responses } = await broker.fetch({
    replicaId: -1,
    isolationLevel: 0,
    maxWaitTime: 500,
    minBytes: 1,
    maxBytes: partitionMaxBytes * from.size,
    topics: [
      {
        topic,
        partitions: Array.from(from, ([partition, offset]) => ({
          partition,
          fetchOffset: String(offset),
          maxBytes: partitionMaxBytes,
        })),
      },
    ],
  });
  return responses.flatMap((response) =>
    response.partitions.flatMap(({ partition, messages }) =>
      messages.map(({ offset, key, value, timestamp, isControlRecord = false }) => ({
        isEnd: isControlRecord,
        partition,
        offset: BigInt(offset),
        key: key?.toString() ?? '',
        value: value?.toString(),
        timestampMs: Number(timestamp),
      })),
    ),
  );
}

/** Consumers order one order's updates by generation first, then by revision. */
export interface UpdatePosition {
  readonly generation: number;
  readonly revision: number;
}

/**
 * Every payload's head, as `encodeUpdate` writes it. A full parse takes 10 µs, this 1 µs: a whole
 * topic is read for two numbers in each record.
 */
const head =
  /^\{"eventId":"(?:[^"\\]|\\.)*","schema":"[^"]*","generation":(\d{1,9}),"stream":"[a-z]+","orderId":"(?:[^"\\]|\\.)*","accountId":"(?:[^"\\]|\\.)*","revision":(\d{1,15})[,}]/;

/** An update's position among those of its order; undefined: it is not an update of ours. */
export function updatePosition(value: string): UpdatePosition | undefined {
  const found = head.exec(value);
  return found === null ? undefined : { generation: Number(found[1]), revision: Number(found[2]) };
}

/** A mark's proof, as `encodeContinuity` writes it. */
const proof = /,"proof":\{"lane":(\d{1,9}),"generation":(\d{1,9}),"upTo":"(\d{1,19})",/;

/**
 * The mark's own batch: its proof ends with the batch before. Undefined: it is no mark of ours, or
 * has no proof.
 */
export function batchOfMark(value: string): PublishedBatch | undefined {
  const [, lane, generation, upTo] = proof.exec(value) ?? [];
  return upTo === undefined
    ? undefined
    : { lane: Number(lane), generation: Number(generation), batch: BigInt(upTo) + 1n };
}

/** Above 0: `a` is newer. */
export function comparePositions(a: UpdatePosition, b: UpdatePosition): number {
  return a.generation - b.generation || a.revision - b.revision;
}

/**
 * The highest generation on the state topic; 0 if the topic is empty. Reads the whole topic, about
 * a minute for a million orders. It does not read the topic of updates: that one is many times as
 * long, and the state topic has its newest records a second later. Rejects when the topic can't be
 * read.
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
