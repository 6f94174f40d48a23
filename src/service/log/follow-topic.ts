import type { Consumer, EachBatchPayload } from 'kafkajs';
import type { Ambient } from '../../observability/ambient.ts';
import { aborted, abortWith, withDeadline } from '../../runtime/waiting.ts';
import type { KafkaOptions } from './kafka-options.ts';
import { type KafkaClientDeps, leaveKafka, openKafkaClient } from './kafkajs/kafka-client.ts';
import { openCluster, topicEnds } from './topic-ends.ts';

/** One record as it is on the topic. */
export interface TopicRecord {
  readonly partition: number;
  readonly offset: bigint;
  /** Empty if the record has none. */
  readonly key: string;
  /** Undefined for a tombstone. */
  readonly value: string | undefined;
  /** When the producer wrote it, milliseconds since the epoch. */
  readonly timestampMs: number;
}

export interface FollowDeps extends KafkaClientDeps, Pick<Ambient, 'clock' | 'random'> {}

export interface FollowOptions {
  readonly kafka: KafkaOptions;
  readonly topic: string;
  readonly from: 'beginning' | 'end';
  /** Hides the records of transactions that have not committed. */
  readonly readCommitted: boolean;
}

/**
 * Records never seen by a reader. Retention or a person deleted them while the reader was away or
 * slow, or their topic was deleted and made again (then `to` is not above `from`). Reading goes on
 * at `to`.
 */
export interface Jump {
  readonly partition: number;
  readonly from: bigint;
  readonly to: bigint;
}

/** The follower: its position, and its handling of the records. */
export interface Follower {
  readonly position: FollowPosition;
  /** Takes one partition's records; the next ones come once it has resolved. */
  give(records: TopicRecord[]): Promise<void>;
  /** The position moved. */
  onProgress(): void;
  onJump(jump: Jump): void;
}

/**
 * Each partition's next offset. It is kept over reconnects, so that no record is skipped or given
 * twice.
 */
export class FollowPosition {
  readonly next = new Map<number, bigint>();
  /** Each partition's end when the following began. */
  readonly end = new Map<number, bigint>();

  /**
   * The partition has these offsets now. Returns a jump if the next offset is no longer among them.
   */
  meet(partition: number, low: bigint, high: bigint): Jump | undefined {
    const from = this.next.get(partition);
    if (from === undefined || (from >= low && from <= high)) return undefined;
    this.next.set(partition, low);
    // A topic made again can only bring the records that it has now.
    if ((this.end.get(partition) ?? 0n) > high) this.end.set(partition, high);
    return { partition, from, to: low };
  }

  /** All records from before the beginning have been given. */
  get reachedEnd(): boolean {
    if (this.end.size === 0) return false;
    for (const [partition, end] of this.end) if ((this.next.get(partition) ?? 0n) < end) return false;
    return true;
  }
}

/**
 * Follows a topic over one connection: resolves when `signal` aborts, rejects when anything fails.
 * `give` may be slow: the consumer waits and keeps its membership alive. `attempt` rotates the
 * brokers.
 *
 * kafkajs has no consumer without a group. This group has a name of its own and commits nothing, so
 * the broker forgets it as soon as it is empty; the offsets come from us by `seek`. kafkajs's own
 * restart after a crash is off: it would continue in a retired client.
 */
export async function followTopic(
  deps: FollowDeps,
  options: FollowOptions,
  follower: Follower,
  signal: AbortSignal,
  attempt: number,
): Promise<void> {
  const client = openKafkaClient(options.kafka, deps, attempt);
  const consumer = client.kafka.consumer({
    groupId: `${options.kafka.clientId}-reader-${deps.random.uuid()}`,
    allowAutoTopicCreation: false,
    maxWaitTimeInMs: 500,
    sessionTimeout: 15_000,
    heartbeatInterval: 3000,
    readUncommitted: !options.readCommitted,
    retry: { retries: 2, initialRetryTime: 100, restartOnFailure: () => Promise.resolve(false) },
  });
  // The signal outlives this connection, and an outage makes thousands of them.
  using over = abortWith(signal);
  const stopped = aborted(over.signal);
  const crashed = new Promise<never>((_, reject) => {
    consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error));
  });
  crashed.catch(() => undefined);
  try {
    const starting = begin(deps, client.kafka, consumer, options, follower);
    await Promise.race([
      withDeadline(deps.clock, 30_000, `beginning to read ${options.topic}`, starting),
      crashed,
      stopped,
    ]);
    await Promise.race([crashed, stopped]);
  } finally {
    await leaveKafka(deps.clock, client, consumer, 2000);
  }
}

async function begin(
  deps: FollowDeps,
  kafka: ReturnType<typeof openKafkaClient>['kafka'],
  consumer: Consumer,
  options: FollowOptions,
  { position, give, onProgress, onJump }: Follower,
): Promise<void> {
  const { topic } = options;
  const cluster = openCluster(kafka);
  await cluster.connect();
  try {
    const ends = await topicEnds(cluster, topic);
    for (const [partition, high] of ends.high) {
      const low = ends.low.get(partition) ?? 0n;
      const jump = position.meet(partition, low, high);
      if (jump !== undefined) onJump(jump);
      if (!position.end.has(partition)) position.end.set(partition, high);
      if (!position.next.has(partition)) position.next.set(partition, options.from === 'beginning' ? low : high);
    }
  } finally {
    await cluster.disconnect();
  }
  onProgress();
  consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload }) => {
    // The position also moves past batches with only a transaction's markers, or with an aborted
    // transaction's records.
    const next = BigInt(payload.lastOffset) + 1n;
    if (next > (position.next.get(payload.partition) ?? 0n)) position.next.set(payload.partition, next);
    onProgress();
  });
  const met = new Set<number>();
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  await consumer.run({
    autoCommit: false,
    eachBatchAutoResolve: true,
    eachBatch: async (batch) => {
      assertFollows(position, batch.batch, met);
      await takeBatch(deps, position, give, batch);
    },
  });
  for (const [partition, offset] of position.next) consumer.seek({ topic, partition, offset: String(offset) });
}

/**
 * Rejects when kafkajs has gone on at another offset than the next one. It does so without a word
 * when the next offset is out of the topic's range; the next connection compares both. Records
 * fetched before a connection's first seek lie below the next offset, and mean nothing.
 */
function assertFollows(position: FollowPosition, batch: EachBatchPayload['batch'], met: Set<number>): void {
  const { partition, fetchedOffset } = batch as typeof batch & { readonly fetchedOffset: string };
  const next = position.next.get(partition) ?? 0n;
  const fetched = BigInt(fetchedOffset);
  if (fetched === next) met.add(partition);
  else if (fetched > next || met.has(partition))
    throw new Error(
      `partition ${partition} goes on at offset ${fetched} in place of ${next}: records are gone, or the topic is another`,
    );
}

async function takeBatch(
  deps: FollowDeps,
  position: FollowPosition,
  give: (records: TopicRecord[]) => Promise<void>,
  { batch, heartbeat }: EachBatchPayload,
): Promise<void> {
  const { partition } = batch;
  const next = position.next.get(partition) ?? 0n;
  const records = batch.messages
    .map(({ offset, key, value, timestamp }) => ({
      partition,
      offset: BigInt(offset),
      key: key?.toString() ?? '',
      value: value?.toString(),
      timestampMs: Number(timestamp),
    }))
    // Drops records that kafkajs fetched before the seek.
    .filter(({ offset }) => offset >= next);
  const last = records.at(-1);
  if (last === undefined) return;
  let given = false;
  const giving = give(records).finally(() => {
    given = true;
  });
  while (!given) {
    await Promise.race([giving, deps.clock.sleep(3000)]);
    if (!given) await heartbeat();
  }
  await giving;
  position.next.set(partition, last.offset + 1n);
}
