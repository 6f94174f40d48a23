import type { Admin } from 'kafkajs';
import type { KafkaOptions } from './kafka-options.ts';
import { type AdminDeps, withAdmin } from './with-admin.ts';

const answerWithinMs = 5_000;

/**
 * Runs `work` with an admin client that speaks to the broker at `address` (`host:port`) and to no other, not to the addresses that the cluster advertises: a client that follows them
 * does not learn which of two addresses is the wrong one. Signs in like every client. Rejects when it does not answer within 11 s.
 */
export function withBrokerAt<T>(
  deps: AdminDeps,
  options: KafkaOptions,
  address: string,
  work: (admin: Admin) => Promise<T>,
): Promise<T> {
  const colon = address.lastIndexOf(':');
  const only = { host: address.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(address.slice(colon + 1)) };
  return withAdmin({ ...deps, only }, { ...options, brokers: [address] }, work, answerWithinMs);
}
