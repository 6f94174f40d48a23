import type { Producer } from 'kafkajs';
import type { Ambient } from '../../observability/ambient.ts';
import type { Metrics } from '../../observability/metrics.ts';
import { withDeadline } from '../../runtime/waiting.ts';
import type { KafkaOptions } from './kafka-options.ts';
import { carriersOf, type Metadata } from './kafkajs/carriers.ts';
import { lastCluster } from './kafkajs/hidden-cluster.ts';
import { type KafkaClient, type KafkaClientDeps, openKafkaClient } from './kafkajs/kafka-client.ts';
import { checkAcks, NotingPartitioner } from './kafkajs/partitioner.ts';
import { PieceSize, toPublishError } from './publish-sends.ts';
import { PublishError, type Publisher, type PublishRow, type SentAlong } from './publisher.ts';

interface LogPublisherDeps extends KafkaClientDeps, Pick<Ambient, 'clock' | 'log'> {
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
   * From call to acknowledgement of one piece, including the time to connect. Above the request
   * timeout, or it would hide which request was late.
   */
  readonly sendDeadlineMs: number;
}

interface Message {
  readonly key: string;
  readonly value: string;
  readonly timestamp: string;
  headers?: { readonly traceparent: string };
  readonly partition?: number;
  /** See `leanProduce`. */
  acknowledged: boolean;
}

/** In this partition, whatever its key. */
type Carried = PublishRow & { readonly partition: number };

export const logPublisherDefaults = { sendDeadlineMs: 8000 } as const;

interface Connected {
  readonly client: KafkaClient;
  readonly producer: Producer;
  readonly partitioner: NotingPartitioner;
  /** The producer's own. */
  readonly cluster: () => Metadata | undefined;
  /** False: it may not see the topic of the row to take along. Undefined: it has not asked. */
  carries: boolean | undefined;
  /** It was handed records: once it is retired, their fate is not known. */
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
    const sent: Message[] = [];
    let left = this.size.split(unsent);
    for (let tries = 0; left.length > 0; tries += 1) {
      const [piece = [], ...behind] = left;
      const carried = along && this.carried(piece, along);
      if (along !== undefined && carried === undefined) await along.before();
      if ((tries > 0 || along !== undefined) && !mayAct())
        throw new PublishError('lease', 'the lease grew too old before a piece of a send');
      if (this.closed) throw new PublishError('unavailable', 'the publisher is closed');
      try {
        const answer = this.send(piece, sent, carried, along?.row.topic);
        await withDeadline(this.deps.clock, this.options.sendDeadlineMs, 'a send to Kafka', answer);
        if (carried !== undefined) along?.carried();
        this.size.took();
        left = behind;
      } catch (err) {
        const failure = toPublishError(err, piece);
        const has = new Set(sent.flatMap(({ value, acknowledged }) => (acknowledged ? [value] : [])));
        this.acknowledged = new Set([...rows.map(({ payload }) => payload).filter((each) => had.has(each)), ...has]);
        this.retire(failure.code);
        if (failure.code !== 'too_large' || !this.size.refused(piece)) throw failure;
        left = this.size.split(left.flat().filter(({ payload }) => !has.has(payload)));
      }
    }
    if (this.acknowledged.size > 0) this.acknowledged = new Set();
  }

  async close(): Promise<void> {
    this.closed = true;
    const { connected } = this;
    this.connected = undefined;
    if (connected === undefined) return;
    // Nothing is in flight by now. The disconnect is only a courtesy to the
    // broker, and its failure changes nothing.
    await withDeadline(this.deps.clock, 1000, 'disconnecting', connected.producer.disconnect()).catch(() => undefined);
    connected.client.retire();
  }

  /**
   * The row, once for each broker in the send, in a partition led by it. Undefined: the brokers are
   * not known yet, or one leads no partition of the row's topic.
   */
  private carried(piece: readonly PublishRow[], { row, alone }: SentAlong): readonly Carried[] | undefined {
    const { connected } = this;
    const cluster = connected?.carries === true ? connected.cluster() : undefined;
    if (cluster === undefined || alone) return undefined;
    const carriers = carriersOf(cluster, piece, (topic) => this.nameOf(topic), row.topic);
    return carriers?.map((partition) => ({ ...row, partition }));
  }

  private nameOf(topic: PublishRow['topic']): string {
    const name = this.options.topics[topic];
    if (name === undefined) throw new PublishError('unknown_topic', `there is no topic for ${topic}`);
    return name;
  }

  private async send(
    rows: readonly PublishRow[],
    sent: Message[],
    carried: readonly Carried[] = [],
    along?: PublishRow['topic'],
  ): Promise<void> {
    const connected = this.connected ?? (await this.connect());
    const { producer, partitioner } = connected;
    // Asked for once: the next send can take it along. A missing topic has no leaders.
    if (along !== undefined && connected.carries === undefined)
      connected.carries = await connected
        .cluster()
        ?.addTargetTopic(this.nameOf(along))
        .then(
          () => true,
          () => false,
        );
    partitioner.reset();
    // One timestamp for all records, and as text, as `leanProduce` needs it.
    const timestamp = String(Math.trunc(this.deps.clock.nowMs()));
    const byTopic = new Map<string, Message[]>();
    const add = (topic: PublishRow['topic'], message: Message) => {
      const name = this.nameOf(topic);
      const messages = byTopic.get(name);
      if (messages === undefined) byTopic.set(name, [message]);
      else messages.push(message);
    };
    for (const { topic, key, payload, partition } of carried)
      add(topic, { key, value: payload, timestamp, partition, acknowledged: false });
    for (const { topic, key, payload, traceparent } of rows) {
      const message: Message = { key, value: payload, timestamp, acknowledged: false };
      sent.push(message);
      add(topic, message);
      if (traceparent !== undefined) message.headers = { traceparent };
    }
    connected.used = true;
    const answer = await producer.sendBatch({
      acks: -1,
      // The broker gives up waiting for its replicas before we give up waiting for it.
      timeout: this.options.kafka.requestTimeoutMs - 500,
      topicMessages: Array.from(byTopic, ([topic, messages]) => ({ topic, messages })),
    });
    checkAcks(partitioner.sentTo, answer);
  }

  private async connect(): Promise<Connected> {
    const client = openKafkaClient(this.options.kafka, this.deps, this.attempts);
    this.attempts += 1;
    const partitioner = new NotingPartitioner(this.options.planned);
    const cluster = lastCluster<Metadata>(client.kafka);
    const producer = client.kafka.producer({
      idempotent: false,
      allowAutoTopicCreation: false,
      retry: { retries: 0 },
      createPartitioner: partitioner.create,
    });
    const connected: Connected = { client, producer, partitioner, cluster, carries: undefined, used: false };
    this.connected = connected;
    await producer.connect();
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
