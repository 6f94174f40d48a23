import type { Cleanup } from './cleanup.ts';
import { type AloneFigures, costAt } from './measure-alone.ts';
import { loadAt, settle } from './measure-service.ts';
import type { Stack } from './stack.ts';
import { withService } from './with-service.ts';

export interface ShardsFigures {
  readonly shards: number;
  /** Of each turn. */
  readonly costs: readonly AloneFigures[];
  /** Resident memory of the service at the end of each turn. */
  readonly endRssMb: readonly number[];
}

/** Enough for every one of 16 shards to have some. */
export const shardedAccounts = 64;
const counts = [1, 16] as const;
const rate = 5_000;
const rounds = 2;

/**
 * One process with one shard and with 16, with the same accounts and the same load, in turn: each
 * time a new database and a new service.
 */
export async function measureShards(
  cleanup: Cleanup,
  stack: Stack,
  { seconds }: { readonly seconds: number },
): Promise<readonly ShardsFigures[]> {
  const turns = counts.map((shards) => ({ shards, costs: [] as AloneFigures[], endRssMb: [] as number[] }));
  for (let round = 0; round < rounds; round += 1) {
    // In one order and then in the other: a machine that grows slower costs both the same.
    for (const turn of round % 2 === 0 ? turns : turns.toReversed()) {
      const load = { accounts: shardedAccounts };
      const figures = await withService(
        cleanup,
        stack,
        { part: 'shards', load, shards: turn.shards },
        async (watched) => {
          // The service is still being compiled at first.
          await loadAt(watched, rate, seconds / 2);
          await settle(watched);
          const found = await loadAt(watched, rate, seconds);
          await settle(watched);
          return found;
        },
      );
      turn.costs.push(costAt(rate, figures));
      turn.endRssMb.push(figures.processes.find(({ name }) => name === 'service')?.endRssMb ?? 0);
    }
  }
  return turns;
}
