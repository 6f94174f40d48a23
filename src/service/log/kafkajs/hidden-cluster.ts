import { createRequire } from 'node:module';
import type { Kafka } from 'kafkajs';
import type { Cluster } from './send-records.ts';

const createCluster = 'private:Kafka:createCluster';
const load = createRequire(import.meta.url);

/**
 * A kafkajs 2.2.4 cluster with all of the client's settings, and a connection of its own. kafkajs'
 * types hide it, so `Methods` names the methods that the caller uses. It is behind a symbol: the
 * version is pinned, and tests read real topics through it.
 */
export function hiddenCluster<Methods>(kafka: object, options: Readonly<Record<string, unknown>>): Methods {
  const symbol = Object.getOwnPropertySymbols(kafka).find(({ description }) => description === createCluster);
  const create = symbol && (kafka as Record<symbol, unknown>)[symbol];
  if (typeof create !== 'function')
    throw new Error('kafkajs: its cluster is gone; see src/service/log/kafkajs/hidden-cluster.ts');
  return create(options) as Methods;
}

/** For a producer: what it knows of leaders is at most five minutes old, as in kafkajs's own. */
export function producerCluster(kafka: Kafka): Cluster {
  const metadataMaxAge = 300_000;
  return hiddenCluster<Cluster>(kafka, { metadataMaxAge, allowAutoTopicCreation: false, maxInFlightRequests: 1 });
}

/** Transactions by the only writer with this id: kafkajs's `EosManager`. */
export interface Transactions {
  /** Fences every older writer. */
  initProducerId(): Promise<void>;
  beginTransaction(): void;
  /** Those that are in it already are left out. */
  addPartitionsToTransaction(
    topics: readonly { readonly topic: string; readonly partitions: readonly { readonly partition: number }[] }[],
  ): Promise<void>;
  getProducerId(): unknown;
  getProducerEpoch(): number;
  getSequence(topic: string, partition: number): number;
  updateSequence(topic: string, partition: number, records: number): void;
  commit(): Promise<void>;
}

export function transactionsOf(
  kafka: Kafka,
  cluster: Cluster,
  options: { readonly transactionalId: string; readonly transactionTimeout: number },
): Transactions {
  const create = load('kafkajs/src/producer/eosManager') as (of: object) => Transactions;
  return create({ logger: kafka.logger().namespace('Producer'), cluster, transactional: true, ...options });
}
