import type { Clock } from '../../../src/runtime/clock.ts';
import type { Random } from '../../../src/runtime/random.ts';
import { happens, oneOf } from '../../../src/sandbox/market/instruments.ts';
import type { Fleet, ShardStore } from '../../../src/store/fleet/shard-store.ts';

/** How the fleet misleads its members while faults are on, each as a probability a call. */
export interface EnemyPlan {
  /** A look arrives up to this much later than it was made. */
  readonly lateMs: number;
  /**
   * A look shows other weights, and leaves members out: the plan that is made of it is any plan.
   */
  readonly perverse: number;
  /** All free shards are asked for, whatever was planned. */
  readonly greedy: number;
}

export const noEnemy: EnemyPlan = { lateMs: 0, perverse: 0, greedy: 0 };

/**
 * The shards as a process sees them: the assignments are the rows, but the wishes that
 * it makes are an enemy's. Only the rows decide. A pinned shard that it gives
 * although it saw no reason to go is a breach.
 */
export function misled(
  store: ShardStore,
  plan: () => EnemyPlan,
  { clock, random, breach }: { clock: Clock; random: Random; breach: (what: string) => void },
): ShardStore {
  const distort = ({ members, ...fleet }: Fleet): Fleet => ({
    ...fleet,
    members: members.map((member) => ({
      ...member,
      weight: oneOf(random, [0, 1, 1, 5]),
      livedMs: oneOf(random, [0, 60_000]),
    })),
  });
  let assignments: Fleet['assignments'] = [];
  // A process that took a shard up again has looked twice in its
  // round, and plans by the first look.
  let shown: readonly Fleet[] = [];
  return {
    look: async (expireAfterMs) => {
      const fleet = await store.look(expireAfterMs);
      assignments = fleet.assignments;
      const { lateMs, perverse } = plan();
      if (lateMs > 0 && happens(random, 0.3)) await clock.sleep(random.next() * lateMs);
      const now = happens(random, perverse) ? distort(fleet) : fleet;
      shown = [...shown.slice(-1), now];
      return now;
    },
    introduce: (...call) => store.introduce(...call),
    resume: (...call) => store.resume(...call),
    take: (lane, epoch, seen) => store.take(lane, epoch, happens(random, plan().greedy) ? assignments : seen),
    free: (lane, epoch, held) => {
      const mustStay = ({ members, assignments: rows }: Fleet) =>
        rows[held.shard]?.pinned === true && members.some((member) => member.lane === lane && member.weight > 0);
      if (shown.every(mustStay)) breach(`lane ${lane} gives shard ${held.shard}, which is pinned`);
      return store.free(lane, epoch, held);
    },
    freeAll: (...call) => store.freeAll(...call),
  };
}
