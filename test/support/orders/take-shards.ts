import type { HeldShard, ShardStore } from '../../../src/store/fleet/shard-store.ts';

/** As they stand, at their newest epochs. */
async function seen(store: ShardStore, numbers: readonly number[]): Promise<HeldShard[]> {
  const { assignments } = await store.look(6_000);
  return assignments.filter(({ shard }) => numbers.includes(shard));
}

/** Takes those of the shards that are free, or of this lane, by a look of just now. */
export async function takeShards(store: ShardStore, lane: number, epoch: bigint, numbers: readonly number[]) {
  return store.take(lane, epoch, await seen(store, numbers));
}

/** Frees those of the shards that the lane holds, one after the other. False: one was not freed. */
export async function freeShards(
  store: ShardStore,
  lane: number,
  epoch: bigint,
  numbers: readonly number[],
): Promise<boolean> {
  const freed: boolean[] = [];
  for (const held of await seen(store, numbers)) freed.push(await store.free(lane, epoch, held));
  return !freed.includes(false);
}
