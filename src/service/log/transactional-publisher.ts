import type { LogRow } from '../../domain/committed-batch.ts';
import type { Metrics } from '../../observability/metrics.ts';
import type { Clock } from '../../runtime/clock.ts';
import { withDeadline } from '../../runtime/waiting.ts';
import type { KafkaOptions } from './kafka-options.ts';
import { producerCluster, type Transactions, transactionsOf } from './kafkajs/hidden-cluster.ts';
import { type KafkaClient, type KafkaClientDeps, leaveKafka, openKafkaClient } from './kafkajs/kafka-client.ts';
import { type Cluster, leadersOf, partsOf, produce, refreshLeaders, timesOf } from './kafkajs/send-records.ts';
import { kafkaErrorType, PieceSize, toPublishError } from './publish-sends.ts';
import { PublishError, type StatePublisher } from './publisher.ts';

interface TransactionalPublisherDeps extends KafkaClientDeps {
  readonly clock: Clock;
  readonly metrics: Pick<Metrics['relay'], 'producerReplaced'>;
  /** Called when the broker refuses us because a later writer has taken the topic over. */
  readonly onFenced?: () => void;
}

export const transactionalPublisherDefaults = {
  /**
   * After this the broker aborts a transaction without its writer; until then readers of committed
   * records wait behind it.
   */
  transactionTimeoutMs: 30_000,
  takeOverDeadlineMs: 15_000,
  /** For a whole flush. Below the transaction timeout. */
  flushDeadlineMs: 20_000,
};

interface TransactionalPublisherOptions extends Readonly<typeof transactionalPublisherDefaults> {
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
}

interface Connected {
  readonly client: KafkaClient;
  readonly cluster: Cluster;
  readonly transactions: Transactions;
  readonly transactionalId: string;
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
      await connected.cluster.connect();
      await this.whenReady(connected, () => connected.transactions.initProducerId());
    });
  }

  async flush(rows: readonly LogRow[]): Promise<void> {
    const { connected } = this;
    if (connected === undefined)
      throw new PublishError('unavailable', 'not the writer of the state topic: take over first');
    await this.guarded('a flush of the state topic', this.options.flushDeadlineMs, async () => {
      connected.transactions.beginTransaction();
      for (const piece of this.size.split(rows)) await this.send(connected, piece);
      await connected.transactions.commit();
    });
  }

  async close(): Promise<void> {
    const { connected } = this;
    this.connected = undefined;
    if (connected !== undefined) await leaveKafka(this.deps.clock, connected.client, connected.cluster);
  }

  private async send(connected: Connected, rows: readonly LogRow[]): Promise<void> {
    const { cluster, transactions } = connected;
    const { topic, kafka, planned } = this.options;
    await refreshLeaders(cluster, [topic]);
    const parts = partsOf(
      rows,
      () => topic,
      () => leadersOf(cluster, topic, planned),
    );
    // Until its first partitions are accepted, the broker may still be finishing the previous
    // transaction.
    await this.whenReady(connected, () => transactions.addPartitionsToTransaction([{ topic, partitions: parts }]));
    for (const part of parts) {
      part.firstSequence = transactions.getSequence(topic, part.partition);
      transactions.updateSequence(topic, part.partition, part.records.length);
    }
    try {
      await produce(cluster, parts, {
        transactionalId: connected.transactionalId,
        producerId: BigInt(String(transactions.getProducerId())),
        producerEpoch: transactions.getProducerEpoch(),
        ...timesOf(kafka, this.deps.clock),
      });
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
    const transactionalId = this.options.transactionalId();
    const cluster = producerCluster(client.kafka);
    const transactions = transactionsOf(client.kafka, cluster, {
      transactionalId,
      transactionTimeout: this.options.transactionTimeoutMs,
    });
    this.connected = { client, cluster, transactions, transactionalId };
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
      if (failure.code === 'fenced') {
        this.deps.metrics.producerReplaced.inc({ reason: failure.code });
        this.deps.onFenced?.();
      }
      throw failure;
    }
  }
}
