import type { Admin } from 'kafkajs';
import type { Clock } from '../runtime/clock.ts';
import { withDeadline } from '../runtime/deadline.ts';
import { type KafkaClientDeps, openKafkaClient } from './kafka-client.ts';
import type { KafkaOptions } from './kafka-options.ts';

export interface AdminDeps extends KafkaClientDeps {
  readonly clock: Clock;
}

/** Runs `work` with a connected admin client, which is gone afterwards. Rejects when the brokers don't answer within `deadlineMs`; each is tried first in turn. */
export async function withAdmin<T>(
  deps: AdminDeps,
  options: KafkaOptions,
  work: (admin: Admin) => Promise<T>,
  deadlineMs = 15_000,
): Promise<T> {
  for (let attempt = 0; ; attempt += 1) {
    const client = openKafkaClient(options, deps, attempt);
    // A few retries of kafkajs's own are right here: nothing is produced, and a new topic's leader takes a moment.
    const admin = client.kafka.admin({ retry: { retries: 4, initialRetryTime: 100 } });
    try {
      try {
        await withDeadline(deps.clock, options.connectTimeoutMs * 2, 'connecting to Kafka', admin.connect());
      } catch (err) {
        if (attempt + 1 >= options.brokers.length) throw err;
        continue;
      }
      return await withDeadline(deps.clock, deadlineMs, 'asking Kafka', work(admin));
    } finally {
      await withDeadline(deps.clock, 1000, 'disconnecting', admin.disconnect()).catch(() => undefined);
      client.retire();
    }
  }
}
