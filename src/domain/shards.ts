import { javaPartition } from './java-partition.ts';

/** How many shards a new database gets. */
export const defaultShardCount = 16;

/** Every process has all of them compared twice a second (docs/scaling.md). */
export const maxShardCount = 4096;

/**
 * The shard of an account, 0 to count - 1: the same in every process, for
 * as long as the database keeps its count.
 */
export function shardOf(accountId: string, count: number): number {
  return javaPartition(accountId, count);
}
