import type { LaneCheckpoint } from '../../runtime/lease.ts';
import { withDeadline } from '../../runtime/waiting.ts';
import { decodeCheckpoint, mergeCheckpoint, withRemedy } from './checkpoint-writer.ts';
import type { KafkaOptions } from './kafka-options.ts';
import { openKafkaClient } from './kafkajs/kafka-client.ts';
import { type EndsCluster, openCluster, topicEnds } from './topic-ends.ts';
import type { AdminDeps } from './with-admin.ts';

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
  readonly messages: readonly { readonly offset: string; readonly value: Buffer | null }[];
}

interface CheckpointReaderOptions {
  readonly kafka: KafkaOptions;
  readonly topic: string;
  readonly deadlineMs: number;
}

const partitionMaxBytes = 1_048_588;

/**
 * Reads new records on the checkpoint topic, for one process: the first read takes the whole topic,
 * each further one the records since. A late read's records are kept, so the next read goes on
 * there.
 *
 * Not a consumer: kafkajs has none without a group, and a broker makes a new group wait for three
 * seconds (`group.initial.rebalance.delay.ms`). A takeover may take only twice that time.
 */
export class CheckpointReader {
  /** By partition: the first record not read yet. */
  private readonly next = new Map<number, bigint>();
  private readonly newest = new Map<number, LaneCheckpoint>();
  private last: Promise<unknown> = Promise.resolve();
  private readonly deps: AdminDeps;
  private readonly options: CheckpointReaderOptions;

  constructor(deps: AdminDeps, options: CheckpointReaderOptions) {
    this.deps = deps;
    this.options = options;
  }

  /**
   * All checkpoints on the topic at the moment of the call, by lane. Rejects when the brokers don't
   * answer in time, and says what to do where the topic can't be read; any one broker is enough to
   * begin with.
   */
  read(): Promise<readonly LaneCheckpoint[]> {
    const read = this.last.then(() => this.ask());
    this.last = read.catch(() => undefined);
    return read;
  }

  private async ask(): Promise<readonly LaneCheckpoint[]> {
    const { clock } = this.deps;
    const { kafka, topic, deadlineMs } = this.options;
    const what = `reading ${topic}`;
    const untilMs = clock.monotonicMs() + deadlineMs;
    const leftMs = () => Math.max(1, untilMs - clock.monotonicMs());
    for (let attempt = 0; ; attempt += 1) {
      const client = openKafkaClient(kafka, this.deps, attempt);
      const isLast = attempt + 1 >= kafka.brokers.length;
      try {
        const cluster = openCluster<Cluster>(client.kafka);
        try {
          // A mute broker leaves half the time to the others.
          await withDeadline(clock, isLast ? leftMs() : leftMs() / 2, what, cluster.connect());
        } catch (err) {
          if (isLast) throw err;
          continue;
        }
        return await withDeadline(clock, leftMs(), what, this.readOn(cluster));
      } catch (err) {
        throw withRemedy(err, 'Read');
      } finally {
        client.retire();
      }
    }
  }

  private async readOn(cluster: Cluster): Promise<readonly LaneCheckpoint[]> {
    const { topic } = this.options;
    const { low, high } = await topicEnds(cluster, topic);
    // The topic was deleted and made again.
    if ([...this.next].some(([partition, next]) => next > (high.get(partition) ?? 0n))) this.forget();
    for (const [partition, first] of low) if ((this.next.get(partition) ?? 0n) < first) this.next.set(partition, first);
    const leaders = Object.entries(cluster.findLeaderForPartitions(topic, [...high.keys()]));
    await Promise.all(
      leaders.map(([leader, of]) => this.readOf(cluster, leader, new Map(of.map((one) => [one, high.get(one) ?? 0n])))),
    );
    await cluster.disconnect();
    return [...this.newest.values()];
  }

  /** The partitions one broker leads, up to these ends. */
  private async readOf(cluster: Cluster, leader: string, ends: ReadonlyMap<number, bigint>): Promise<void> {
    const nextOf = (partition: number) => this.next.get(partition) ?? 0n;
    const broker = await cluster.findBroker({ nodeId: leader });
    for (;;) {
      const left = [...ends].filter(([partition, end]) => nextOf(partition) < end);
      if (left.length === 0) return;
      const partitions = left.map(([partition]) => ({
        partition,
        fetchOffset: String(nextOf(partition)),
        maxBytes: partitionMaxBytes,
      }));
      const { responses } = await broker.fetch({
        replicaId: -1,
        isolationLevel: 0,
        maxWaitTime: 500,
        minBytes: 1,
        maxBytes: partitionMaxBytes * left.length,
        topics: [{ topic: this.options.topic, partitions }],
      });
      const read = responses.flatMap((response) => response.partitions);
      let news = 0;
      for (const { partition, messages } of read)
        for (const { offset, value } of messages) {
          // A fetch brings whole batches, from their beginning.
          if (BigInt(offset) < nextOf(partition)) continue;
          news += 1;
          this.take(value?.toString() ?? '');
          this.next.set(partition, BigInt(offset) + 1n);
        }
      // Compaction may have left nothing between here and the end. Above our quota a broker answers
      // about no partition, whatever it has.
      if (news === 0) for (const { partition } of read) this.next.set(partition, ends.get(partition) ?? 0n);
    }
  }

  private take(value: string): void {
    const checkpoint = decodeCheckpoint(value);
    if (checkpoint !== undefined)
      this.newest.set(checkpoint.lane, mergeCheckpoint(this.newest.get(checkpoint.lane), checkpoint));
  }

  private forget(): void {
    this.next.clear();
    this.newest.clear();
  }
}
