import type { Clock } from '../../../src/runtime/clock.ts';
import type { Fleet, HeldShard, MemberCard, ShardStore } from '../../../src/store/fleet/shard-store.ts';
import type { LaneRow, ShardRow } from '../database-rows.ts';

interface MemoryShardsDeps {
  readonly lanes: ReadonlyMap<number, LaneRow>;
  readonly clock: Clock;
  /** A statement that only reads. */
  readonly read: () => Promise<void>;
  /** A statement that writes: it waits for the lane's row, and may outlive its client. */
  readonly write: <T>(work: () => T) => Promise<T>;
  readonly hasUnpublished: (lane: number) => boolean;
  /** What a taking adds to an epoch. */
  readonly step: (holder: string) => bigint;
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
        const { holder, card, heldSinceMs, drained } = row;
        if (holder === undefined || !isLive(row)) return [];
        const livedMs = Math.max(0, nowMs - heldSinceMs);
        return [{ ...card, lane, holder, livedMs, drained, ...weightsOf(row) }];
      }),
      seats: this.rows.map(({ sinceMs, ...row }) => ({ ...row, sinceMs: Math.max(0, nowMs - sinceMs) })),
      orphans: inOrder
        .filter(([lane, row]) => !isLive(row) && (this.rows.some((seat) => seat.lane === lane) || hasUnpublished(lane)))
        .map(([lane, { renewedMs }]) => ({ lane, idleMs: Math.max(0, nowMs - renewedMs) })),
    };
  }

  introduce(lane: number, epoch: bigint, card: MemberCard): Promise<boolean> {
    return this.deps.write(() => {
      const row = this.heldBy(lane, epoch);
      if (row !== undefined) row.card = card;
      return row !== undefined;
    });
  }

  resume(lane: number, epoch: bigint): Promise<readonly HeldShard[] | undefined> {
    return this.deps.write(() => this.give('resume', lane, epoch, (seat) => seat.lane === lane));
  }

  take(lane: number, epoch: bigint, seen: readonly HeldShard[]): Promise<readonly HeldShard[] | undefined> {
    const isSeen = (seat: ShardRow) => seen.some((each) => each.shard === seat.shard && each.epoch === seat.epoch);
    return this.deps.write(() =>
      this.give('take', lane, epoch, (seat) => (seat.lane === undefined || seat.lane === lane) && isSeen(seat)),
    );
  }

  async free(lane: number, epoch: bigint, held: HeldShard): Promise<boolean> {
    if (this.freesLate) {
      this.deps.clock.after(3_000, () => this.release(lane, epoch, (seat) => seat.shard === held.shard));
      throw new Error('the answer was lost');
    }
    const isSame = (seat: ShardRow) => seat.shard === held.shard && seat.epoch === held.epoch;
    const freed = await this.deps.write(() => this.release(lane, epoch, isSame));
    return freed !== undefined && freed.length > 0;
  }

  freeAll(lane: number, epoch: bigint): Promise<readonly number[] | undefined> {
    return this.deps.write(() => this.release(lane, epoch, () => true));
  }

  private release(lane: number, epoch: bigint, of: (seat: ShardRow) => boolean): number[] | undefined {
    if (this.heldBy(lane, epoch) === undefined) return undefined;
    const freed = this.rows.filter((seat) => seat.lane === lane && of(seat));
    for (const seat of freed) Object.assign(seat, { lane: undefined, sinceMs: this.nowMs });
    return freed.map(({ shard }) => shard);
  }

  private give(
    by: 'take' | 'resume',
    lane: number,
    epoch: bigint,
    of: (seat: ShardRow) => boolean,
  ): HeldShard[] | undefined {
    const row = this.heldBy(lane, epoch);
    if (row === undefined) return undefined;
    return this.rows.filter(of).map((seat) => {
      seat.lane = lane;
      if (this.raising.has(by)) seat.epoch += this.deps.step(row.holder ?? '');
      seat.sinceMs = this.nowMs;
      return { shard: seat.shard, epoch: seat.epoch };
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

function weightsOf({ card: { draining, unwell, weight }, drained }: LaneRow): { weight: number; spareWeight?: number } {
  if (draining || drained) return { weight: 0 };
  return unwell?.unfit === true ? { weight: 0, spareWeight: weight } : { weight };
}
