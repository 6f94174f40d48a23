import type { Producer } from 'kafkajs';
import type { Ambient } from '../../observability/ambient.ts';
import type { Metrics } from '../../observability/metrics.ts';
import { withDeadline } from '../../runtime/waiting.ts';
import type { KafkaOptions } from './kafka-options.ts';
import { type KafkaClient, type KafkaClientDeps, openKafkaClient } from './kafkajs/kafka-client.ts';
import { checkAcks, NotingPartitioner } from './kafkajs/partitioner.ts';
import { splitSends, toPublishError } from './publish-sends.ts';
import { PublishError, type Publisher, type PublishRow } from './publisher.ts';

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

export const logPublisherDefaults = { sendDeadlineMs: 8000 } as const;

interface Connected {
  readonly client: KafkaClient;
  readonly producer: Producer;
  readonly partitioner: NotingPartitioner;
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
 * Not idempotent, no retries of kafkajs: both lose data silently (docs/decisions/002). Readers drop
 * repeats. The caller waits between two tries: a second backoff here would only be added to it.
 */
export class LogPublisher implements Publisher {
  private connected: Connected | undefined;
  private attempts = 0;
  private closed = false;
  private readonly deps: LogPublisherDeps;
  private readonly options: LogPublisherOptions;

  constructor(deps: LogPublisherDeps, options: LogPublisherOptions) {
    this.deps = deps;
    this.options = options;
  }

  async publish(rows: readonly PublishRow[], mayAct: () => boolean = () => true): Promise<void> {
    for (const [index, piece] of splitSends(rows).entries()) {
      if (index > 0 && !mayAct())
        throw new PublishError('lease', 'the lease grew too old between two pieces of a send');
      if (this.closed) throw new PublishError('unavailable', 'the publisher is closed');
      try {
        await withDeadline(this.deps.clock, this.options.sendDeadlineMs, 'a send to Kafka', this.send(piece));
      } catch (err) {
        const failure = toPublishError(err);
        this.retire(failure.code);
        throw failure;
      }
    }
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

  private async send(rows: readonly PublishRow[]): Promise<void> {
    const connected = this.connected ?? (await this.connect());
    const { producer, partitioner } = connected;
    partitioner.reset();
    // One timestamp for all records, and as text, as `leanProduce` needs it.
    const timestamp = String(Math.trunc(this.deps.clock.nowMs()));
    const byTopic = new Map<
      string,
      { key: string; value: string; timestamp: string; headers?: { traceparent: string } }[]
    >();
    for (const { topic, key, payload, traceparent } of rows) {
      const name = this.options.topics[topic];
      if (name === undefined) throw new PublishError('unknown_topic', `there is no topic for ${topic}`);
      const messages = byTopic.get(name);
      const plain = { key, value: payload, timestamp };
      const message = traceparent === undefined ? plain : { ...plain, headers: { traceparent } };
      if (messages === undefined) byTopic.set(name, [message]);
      else messages.push(message);
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
    const producer = client.kafka.producer({
      idempotent: false,
      allowAutoTopicCreation: false,
      retry: { retries: 0 },
      createPartitioner: partitioner.create,
    });
    const connected: Connected = { client, producer, partitioner, used: false };
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
