import type { ClockAndLogger } from '../../observability/ambient.ts';
import type { Metrics } from '../../observability/metrics.ts';
import { withDeadline } from '../../runtime/waiting.ts';
import type { KafkaOptions } from './kafka-options.ts';
import { producerCluster } from './kafkajs/hidden-cluster.ts';
import { type KafkaClient, type KafkaClientDeps, leaveKafka, openKafkaClient } from './kafkajs/kafka-client.ts';
import type { Part } from './kafkajs/lean-produce.ts';
import {
  type Cluster,
  carriersOf,
  leadersOf,
  notIdempotent,
  partsOf,
  produce,
  refreshLeaders,
  timesOf,
} from './kafkajs/send-records.ts';
import { PieceSize, toPublishError } from './publish-sends.ts';
import { PublishError, type Publisher, type PublishRow, type SentAlong } from './publisher.ts';

interface LogPublisherDeps extends KafkaClientDeps, ClockAndLogger {
  readonly metrics: Pick<Metrics['relay'], 'producerReplaced'>;
}

export interface LogPublisherOptions {
  readonly kafka: KafkaOptions;
  /** A topic for each kind of row; a kind that is left out is never sent. */
  readonly topics: Readonly<Partial<Record<PublishRow['topic'], string>>>;
  /**
   * The partition count that each topic must have, or it is not written to. Left out: any count is
   * accepted.
   */
  readonly planned?: ReadonlyMap<string, number>;
  /**
   * For one piece, twice: to find its leaders, including the time to connect, and to its
   * acknowledgement. Above the request timeout, or it would hide which request was late.
   */
  readonly sendDeadlineMs: number;
}

export const logPublisherDefaults = { sendDeadlineMs: 8000 } as const;

interface Connected {
  readonly client: KafkaClient;
  readonly cluster: Cluster;
  /** False: it may not see the topic of the row to take along. Undefined: it has not asked. */
  carries: boolean | undefined;
  /** It was to send records: once it is retired, their fate is not known. */
  used: boolean;
}

/**
 * The log topics over kafkajs (docs/decisions/002-kafkajs-without-its-retries.md).
 *
 * States: no producer → connected → (any error, or our own deadline) retired: no producer. A
 * retired one is never used again: its remaining records can't reach a broker, so no older copy of
 * a row can arrive after the row was sent again.
 *
 * Where one partition refuses, the others have their records: of a call that failed, the next one
 * sends only the rows that were not acknowledged. A key's rows are in one partition, so nothing is
 * sent before a refused row with its key.
 *
 * Not idempotent, no retries of kafkajs: both lose data silently (docs/decisions/002). Readers drop
 * repeats. The caller waits between two tries: a second backoff here would only be added to it.
 */
export class LogPublisher implements Publisher {
  private connected: Connected | undefined;
  private attempts = 0;
  private closed = false;
  /** The payloads Kafka has from the last failed call. A payload names its record. */
  private acknowledged: ReadonlySet<string> = new Set();
  private readonly size = new PieceSize();
  private readonly deps: LogPublisherDeps;
  private readonly options: LogPublisherOptions;

  constructor(deps: LogPublisherDeps, options: LogPublisherOptions) {
    this.deps = deps;
    this.options = options;
  }

  async publish(rows: readonly PublishRow[], mayAct: () => boolean = () => true, along?: SentAlong): Promise<void> {
    const had = this.acknowledged;
    const unsent = had.size === 0 ? rows : rows.filter(({ payload }) => !had.has(payload));
    if (unsent.length === 0) await along?.before();
    const sent: Part[] = [];
    const failed = (err: unknown, piece: readonly PublishRow[]): PublishError => {
      const failure = toPublishError(err, piece);
      const has = sent.flatMap(({ acknowledged, records }) => (acknowledged ? records : []));
      const kept = rows.filter(({ payload }) => had.has(payload));
      this.acknowledged = new Set([...kept, ...has].map(({ payload }) => payload));
      this.retire(failure.code);
      return failure;
    };
    let left = this.size.split(unsent);
    while (left.length > 0) {
      const [piece = [], ...behind] = left;
      if (this.closed) throw new PublishError('unavailable', 'the publisher is closed');
      const { cluster, parts, carriers } = await this.within(this.prepare(piece, along)).catch((err: unknown) => {
        throw failed(err, piece);
      });
      if (along !== undefined && carriers === undefined) await along.before();
      if (!mayAct()) throw new PublishError('lease', 'the lease grew too old before a piece of a send');
      sent.push(...parts);
      try {
        const times = timesOf(this.options.kafka, this.deps.clock);
        await this.within(produce(cluster, [...(carriers ?? []), ...parts], { ...notIdempotent, ...times }));
        if (carriers !== undefined) along?.carried();
        this.size.took();
        left = behind;
      } catch (err) {
        const failure = failed(err, piece);
        if (failure.code !== 'too_large' || !this.size.refused(piece)) throw failure;
        left = this.size.split(left.flat().filter(({ payload }) => !this.acknowledged.has(payload)));
      }
    }
    if (this.acknowledged.size > 0) this.acknowledged = new Set();
  }

  async close(): Promise<void> {
    this.closed = true;
    const { connected } = this;
    this.connected = undefined;
    if (connected !== undefined) await leaveKafka(this.deps.clock, connected.client, connected.cluster);
  }

  private nameOf(topic: PublishRow['topic']): string {
    const name = this.options.topics[topic];
    if (name === undefined) throw new PublishError('unknown_topic', `there is no topic for ${topic}`);
    return name;
  }

  private within<T>(work: Promise<T>): Promise<T> {
    return withDeadline(this.deps.clock, this.options.sendDeadlineMs, 'a send to Kafka', work);
  }

  /** A piece by partition and leader. No `carriers`: the row along has to be sent alone. */
  private async prepare(piece: readonly PublishRow[], along: SentAlong | undefined) {
    const connected = this.connected ?? (await this.connect());
    const { cluster } = connected;
    const nameOf = (topic: PublishRow['topic']) => this.nameOf(topic);
    const leaders = (name: string) => leadersOf(cluster, name, this.options.planned);
    const beside = along && nameOf(along.row.topic);
    // Asked for once. A missing topic has no leaders.
    if (beside !== undefined)
      connected.carries ??= await refreshLeaders(cluster, [beside]).then(
        () => true,
        () => false,
      );
    await refreshLeaders(cluster, Array.from(new Set(piece.map(({ topic }) => topic)), nameOf));
    connected.used = true;
    const parts = partsOf(piece, nameOf, leaders);
    const goesAlong = beside !== undefined && connected.carries === true && along?.alone === false;
    const carriers = goesAlong ? carriersOf(along.row, beside, leaders(beside), parts) : undefined;
    return { cluster, parts, carriers };
  }

  private async connect(): Promise<Connected> {
    const client = openKafkaClient(this.options.kafka, this.deps, this.attempts);
    this.attempts += 1;
    const connected: Connected = { client, cluster: producerCluster(client.kafka), carries: undefined, used: false };
    this.connected = connected;
    await connected.cluster.connect();
    return connected;
  }

  private retire(reason: string): void {
    const { connected } = this;
    this.connected = undefined;
    connected?.client.retire();
    // A producer that never began a send repeats nothing, and RelayStuck reports a Kafka that can't
    // be reached.
    if (connected?.used === true) this.deps.metrics.producerReplaced.inc({ reason });
  }
}
