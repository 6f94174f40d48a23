import type { Admin, Kafka } from 'kafkajs';
import type { Clock } from '../../runtime/clock.ts';
import { splitHostPort } from '../../runtime/url-host.ts';
import { withDeadline } from '../../runtime/waiting.ts';
import type { KafkaOptions } from './kafka-options.ts';
import { type KafkaClientDeps, leaveKafka, openKafkaClient } from './kafkajs/kafka-client.ts';

export interface AdminDeps extends KafkaClientDeps {
  readonly clock: Clock;
}

/** The broker that was connected to last: the others may be away. */
const connected = new WeakMap<KafkaOptions, number>();

/**
 * Runs `work` with a connected admin client, and closes it afterwards. Rejects when the brokers
 * don't answer within `deadlineMs`; each is tried first in turn.
 */
export async function withAdmin<T>(
  deps: AdminDeps,
  options: KafkaOptions,
  work: (admin: Admin, kafka: Kafka) => Promise<T>,
  deadlineMs = 15_000,
): Promise<T> {
  const from = connected.get(options) ?? 0;
  for (let attempt = from; ; attempt += 1) {
    const client = openKafkaClient(options, deps, attempt);
    // A few of kafkajs's own retries are right here: nothing is produced, and a new topic's leader
    // needs a moment.
    const admin = client.kafka.admin({ retry: { retries: 4, initialRetryTime: 100 } });
    try {
      try {
        await withDeadline(deps.clock, options.connectTimeoutMs * 2, 'connecting to Kafka', admin.connect());
      } catch (err) {
        if (attempt + 1 - from >= options.brokers.length) throw err;
        continue;
      }
      connected.set(options, attempt % options.brokers.length);
      return await withDeadline(deps.clock, deadlineMs, 'asking Kafka', work(admin, client.kafka));
    } finally {
      await leaveKafka(deps.clock, client, admin);
    }
  }
}

const answerWithinMs = 5_000;

/**
 * Runs `work` with an admin client that connects only to the broker at `address` (`host:port`). A
 * client that follows the cluster's advertised addresses can't show which of two addresses is the
 * wrong one. Signs in like every client. Rejects when it does not answer within 11 s.
 */
export function withBrokerAt<T>(
  deps: AdminDeps,
  options: KafkaOptions,
  address: string,
  work: (admin: Admin, kafka: Kafka) => Promise<T>,
): Promise<T> {
  return withAdmin({ ...deps, only: splitHostPort(address) }, { ...options, brokers: [address] }, work, answerWithinMs);
}
