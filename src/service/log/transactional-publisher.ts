import type { Producer, Transaction } from 'kafkajs';
import type { LogRow } from '../../domain/committed-batch.ts';
import type { Metrics } from '../../observability/metrics.ts';
import type { Clock } from '../../runtime/clock.ts';
import { withDeadline } from '../../runtime/waiting.ts';
import type { KafkaOptions } from './kafka-options.ts';
import { type KafkaClient, type KafkaClientDeps, openKafkaClient } from './kafkajs/kafka-client.ts';
import { checkAcks, NotingPartitioner } from './kafkajs/partitioner.ts';
import { kafkaErrorType, PieceSize, toPublishError } from './publish-sends.ts';
import { PublishError, type StatePublisher } from './publisher.ts';

interface TransactionalPublisherDeps extends KafkaClientDeps {
  readonly clock: Clock;
  readonly metrics: Pick<Metrics['relay'], 'producerReplaced'>;
  /** Called when the broker refuses us because a later writer has taken the topic over. */
  readonly onFenced?: () => void;
}

interface TransactionalPublisherOptions {
  readonly kafka: KafkaOptions;
  readonly topic: string;
  /**
   * The partition count that the topic must have, or it is not written to. Left out: any count is
   * accepted.
   */
  readonly planned?: ReadonlyMap<string, number>;
  /**
   * One per lane: the process that initialises it last is the only writer. Asked with each
   * `takeOver`.
   */
  readonly transactionalId: () => string;
  /**
   * After this the broker aborts a transaction without its writer; until then readers of committed
   * records wait behind it.
   */
  readonly transactionTimeoutMs: number;
  readonly takeOverDeadlineMs: number;
  /** For a whole flush. Below the transaction timeout. */
  readonly flushDeadlineMs: number;
}

export const transactionalPublisherDefaults = {
  transactionTimeoutMs: 30_000,
  takeOverDeadlineMs: 15_000,
  flushDeadlineMs: 20_000,
} as const;

interface Connected {
  readonly client: KafkaClient;
  readonly producer: Producer;
  readonly partitioner: NotingPartitioner;
  /**
   * Opened by `takeOver`: kafkajs initialises the producer with its first transaction. It is only
   * local: the broker learns about it with the first record.
   */
  first: Transaction | undefined;
  /** It was handed records: once it is retired, their fate is not known. */
  used: boolean;
  /** The last failed step of this client. */
  refusal?: unknown;
}

/**
 * The coordinator is still loading, or busy with the rest of an earlier transaction: the error
 * means "ask again".
 */
const notYet = new Set([
  'GROUP_COORDINATOR_NOT_AVAILABLE',
  'GROUP_LOAD_IN_PROGRESS',
  'NOT_COORDINATOR_FOR_GROUP',
  'CONCURRENT_TRANSACTIONS',
  'COORDINATOR_LOAD_IN_PROGRESS',
]);
/** kafkajs turns the first error above into this one while it looks for the coordinator. */
const notFoundYet = 'KafkaJSGroupCoordinatorNotFound';
const askAgainMs = 25;

/**
 * The state topic over kafkajs transactions (docs/decisions/002-kafkajs-without-its-retries.md).
 *
 * States: not a writer → (takeOver) the only writer → (any error, or a deadline) retired, not a
 * writer. If a retired writer left a transaction open, the next `takeOver` aborts it, ours or
 * another process's. So an interrupted flush's records are never seen.
 */
export class TransactionalPublisher implements StatePublisher {
  private connected: Connected | undefined;
  private attempts = 0;
  private readonly size = new PieceSize();
  private readonly deps: TransactionalPublisherDeps;
  private readonly options: TransactionalPublisherOptions;

  constructor(deps: TransactionalPublisherDeps, options: TransactionalPublisherOptions) {
    this.deps = deps;
    this.options = options;
  }

  async takeOver(): Promise<void> {
    this.connected?.client.retire();
    this.connected = undefined;
    await this.guarded('taking over the state topic', this.options.takeOverDeadlineMs, async () => {
      const connected = this.open();
      await connected.producer.connect();
      connected.first = await this.whenReady(connected, () => connected.producer.transaction());
    });
  }

  async flush(rows: readonly LogRow[]): Promise<void> {
    const { connected } = this;
    if (connected === undefined)
      throw new PublishError('unavailable', 'not the writer of the state topic: take over first');
    await this.guarded('a flush of the state topic', this.options.flushDeadlineMs, async () => {
      const transaction = connected.first ?? (await connected.producer.transaction());
      connected.first = undefined;
      const [firstPiece = [], ...pieces] = this.size.split(rows);
      // Until the first record is accepted, the broker may still be finishing the previous
      // transaction. A repeat can write one of this flush's rows twice, but it is the same row: a
      // flush holds one row for each order.
      await this.whenReady(connected, () => this.send(connected, transaction, firstPiece));
      for (const piece of pieces) await this.send(connected, transaction, piece);
      await transaction.commit();
    });
  }

  async close(): Promise<void> {
    const { connected } = this;
    this.connected = undefined;
    if (connected === undefined) return;
    await withDeadline(this.deps.clock, 1000, 'disconnecting', connected.producer.disconnect()).catch(() => undefined);
    connected.client.retire();
  }

  private async send({ partitioner }: Connected, transaction: Transaction, rows: readonly LogRow[]): Promise<void> {
    if (rows.length === 0) return;
    partitioner.reset();
    // One timestamp for all records, and as text, as `leanProduce` needs it.
    const timestamp = String(Math.trunc(this.deps.clock.nowMs()));
    const { topic, kafka } = this.options;
    const messages = rows.map(({ key, payload }) => ({ key, value: payload, timestamp }));
    try {
      const answer = await transaction.send({ topic, acks: -1, timeout: kafka.requestTimeoutMs - 500, messages });
      checkAcks(partitioner.sentTo, answer);
    } catch (err) {
      const failure = toPublishError(err, rows);
      if (failure.code !== 'too_large') throw err;
      // The transaction is over. The next one has smaller pieces.
      this.size.refused(rows);
      throw failure;
    }
  }

  private open(): Connected {
    const client = openKafkaClient(this.options.kafka, this.deps, this.attempts);
    this.attempts += 1;
    const partitioner = new NotingPartitioner(this.options.planned);
    const producer = client.kafka.producer({
      transactionalId: this.options.transactionalId(),
      transactionTimeout: this.options.transactionTimeoutMs,
      allowAutoTopicCreation: false,
      maxInFlightRequests: 1,
      retry: { retries: 0 },
      createPartitioner: partitioner.create,
    });
    this.connected = { client, producer, partitioner, first: undefined, used: false };
    return this.connected;
  }

  /**
   * Repeats `work` while the broker is not ready. Ends when the deadline around it retires the
   * client: then every further try is refused.
   */
  private async whenReady<T>(connected: Connected, work: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await work();
      } catch (err) {
        connected.refusal = err;
        const again = notYet.has(kafkaErrorType(err) ?? '') || (err instanceof Error && err.name === notFoundYet);
        if (!again || this.connected !== connected) throw err;
      }
      await this.deps.clock.sleep(askAgainMs);
    }
  }

  /**
   * kafkajs hides why no broker named a coordinator: it is still starting, or this user may not
   * describe the id.
   */
  private worded(failure: PublishError, refusal: unknown): PublishError {
    if (failure.code !== 'timeout' || !(refusal instanceof Error) || refusal.name !== notFoundYet) return failure;
    const why = `Kafka named no coordinator for the transactional id ${this.options.transactionalId()}: none has started yet, or this user of Kafka may not; grant it Describe and Write on that id (docs/security.md)`;
    return new PublishError(failure.code, `${failure.message}: ${why}`, { cause: failure });
  }

  private async guarded(what: string, deadlineMs: number, work: () => Promise<void>): Promise<void> {
    try {
      await withDeadline(this.deps.clock, deadlineMs, what, work());
    } catch (err) {
      const { connected } = this;
      const failure = this.worded(toPublishError(err), connected?.refusal);
      this.connected = undefined;
      connected?.client.retire();
      // As in `LogPublisher`. A fenced one is a fault of its own, even if it had sent nothing.
      if (connected?.used === true || failure.code === 'fenced')
        this.deps.metrics.producerReplaced.inc({ reason: failure.code });
      if (failure.code === 'fenced') this.deps.onFenced?.();
      throw failure;
    }
  }
}
