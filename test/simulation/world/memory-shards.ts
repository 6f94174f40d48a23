import type { Clock } from '../../../src/runtime/clock.ts';
import type { Fleet, HeldShard, MemberIntroduction, ShardStore } from '../../../src/store/fleet/shard-store.ts';
import type { LaneRow, ShardRow } from '../database-rows.ts';

interface MemoryShardsDeps {
  readonly lanes: ReadonlyMap<number, LaneRow>;
  readonly clock: Clock;
  /** A statement that only reads. */
  readonly read: () => Promise<void>;
  /** A statement that writes: it waits for the lane's row, and may outlive its client. */
  readonly write: <T>(work: () => T) => Promise<T>;
  readonly hasUnpublished: (lane: number) => boolean;
  /** After a taking. */
  readonly nextEpoch: (epoch: bigint, holder: string) => bigint;
}

/**
 * The table of shards, by the rules of Postgres: each write is one statement, and does nothing
 * under an epoch of its lane that is gone.
 */
export class MemoryShards implements ShardStore {
  rows: ShardRow[] = [];
  /** For planted bugs: which calls raise the epoch. */
  raising: ReadonlySet<'take' | 'resume'> = new Set(['take', 'resume']);
  /**
   * For a planted bug: a freeing asks for no epoch of its shard, has
   * no answer, and is done some seconds later.
   */
  freesLate = false;
  private readonly deps: MemoryShardsDeps;

  constructor(deps: MemoryShardsDeps) {
    this.deps = deps;
  }

  set count(count: number) {
    this.rows = Array.from({ length: count }, (_, shard) => ({
      shard,
      lane: undefined,
      pinned: false,
      epoch: 0n,
      sinceMs: 0,
    }));
  }

  /** As it stands, for whoever looks from outside. */
  laneOf(shard: number): number | undefined {
    return this.rows[shard]?.lane;
  }

  async look(expireAfterMs: number): Promise<Fleet> {
    const { lanes, clock, read, hasUnpublished } = this.deps;
    await read();
    const nowMs = clock.nowMs();
    const inOrder = [...lanes].sort(([a], [b]) => a - b);
    const isLive = ({ holder, renewedMs }: LaneRow) =>
      holder !== undefined && Math.abs(nowMs - renewedMs) < expireAfterMs;
    return {
      members: inOrder.flatMap(([lane, row]) => {
        const { holder, introduction, heldSinceMs, drained } = row;
        if (holder === undefined || !isLive(row)) return [];
        const livedMs = Math.max(0, nowMs - heldSinceMs);
        return [{ ...introduction, lane, holder, livedMs, drained, ...weightsOf(row) }];
      }),
      assignments: this.rows.map(({ sinceMs, ...row }) => ({ ...row, sinceMs: Math.max(0, nowMs - sinceMs) })),
      orphans: inOrder
        .filter(
          ([lane, row]) =>
            !isLive(row) && (this.rows.some((assignment) => assignment.lane === lane) || hasUnpublished(lane)),
        )
        .map(([lane, { renewedMs }]) => ({ lane, idleMs: Math.max(0, nowMs - renewedMs) })),
    };
  }

  introduce(lane: number, epoch: bigint, introduction: MemberIntroduction): Promise<boolean> {
    return this.deps.write(() => {
      const row = this.heldBy(lane, epoch);
      if (row !== undefined) row.introduction = introduction;
      return row !== undefined;
    });
  }

  resume(lane: number, epoch: bigint): Promise<readonly HeldShard[] | undefined> {
    return this.deps.write(() => this.give('resume', lane, epoch, (assignment) => assignment.lane === lane));
  }

  take(lane: number, epoch: bigint, seen: readonly HeldShard[]): Promise<readonly HeldShard[] | undefined> {
    const isSeen = (assignment: ShardRow) =>
      seen.some((each) => each.shard === assignment.shard && each.epoch === assignment.epoch);
    return this.deps.write(() =>
      this.give(
        'take',
        lane,
        epoch,
        (assignment) => (assignment.lane === undefined || assignment.lane === lane) && isSeen(assignment),
      ),
    );
  }

  async free(lane: number, epoch: bigint, held: HeldShard): Promise<boolean> {
    if (this.freesLate) {
      this.deps.clock.after(3_000, () => this.release(lane, epoch, (assignment) => assignment.shard === held.shard));
      throw new Error('the answer was lost');
    }
    const isSame = (assignment: ShardRow) => assignment.shard === held.shard && assignment.epoch === held.epoch;
    const freed = await this.deps.write(() => this.release(lane, epoch, isSame));
    return freed !== undefined && freed.length > 0;
  }

  freeAll(lane: number, epoch: bigint): Promise<readonly number[] | undefined> {
    return this.deps.write(() => this.release(lane, epoch, () => true));
  }

  private release(lane: number, epoch: bigint, of: (assignment: ShardRow) => boolean): number[] | undefined {
    if (this.heldBy(lane, epoch) === undefined) return undefined;
    const freed = this.rows.filter((assignment) => assignment.lane === lane && of(assignment));
    for (const assignment of freed) Object.assign(assignment, { lane: undefined, sinceMs: this.nowMs });
    return freed.map(({ shard }) => shard);
  }

  private give(
    by: 'take' | 'resume',
    lane: number,
    epoch: bigint,
    of: (assignment: ShardRow) => boolean,
  ): HeldShard[] | undefined {
    const row = this.heldBy(lane, epoch);
    if (row === undefined) return undefined;
    return this.rows.filter(of).map((assignment) => {
      assignment.lane = lane;
      if (this.raising.has(by)) assignment.epoch = this.deps.nextEpoch(assignment.epoch, row.holder ?? '');
      assignment.sinceMs = this.nowMs;
      return { shard: assignment.shard, epoch: assignment.epoch };
    });
  }

  private heldBy(lane: number, epoch: bigint): LaneRow | undefined {
    const row = this.deps.lanes.get(lane);
    return row?.epoch === epoch ? row : undefined;
  }

  private get nowMs(): number {
    return this.deps.clock.nowMs();
  }
}

function weightsOf({ introduction: { draining, unwell, weight }, drained }: LaneRow): {
  weight: number;
  spareWeight?: number;
} {
  if (draining || drained) return { weight: 0 };
  return unwell?.unhealthy === true ? { weight: 0, spareWeight: weight } : { weight };
}
