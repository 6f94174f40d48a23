import type { Clock } from '../../../src/runtime/clock.ts';
import type {
  Fleet,
  HeldShard,
  LaneMember,
  MemberIntroduction,
  ShardStore,
} from '../../../src/store/fleet/shard-store.ts';

/**
 * The table of shards in memory, as Postgres keeps it. Lanes are given an epoch by the test; a call
 * under another one changes nothing.
 */
export class MemoryFleet implements ShardStore {
  readonly assignments: {
    shard: number;
    lane: number | undefined;
    pinned: boolean;
    epoch: bigint;
    changedMs: number;
  }[];
  readonly members = new Map<number, LaneMember>();
  readonly epochs = new Map<number, bigint>();
  readonly orphans = new Map<number, { lane: number; idleMs: number }>();
  /** How often it was looked at. */
  looks = 0;
  /** Rejects every call while true. */
  down = false;
  private readonly clock: Clock;

  constructor(shards: number, clock: Clock) {
    this.clock = clock;
    const assignment = { lane: undefined, pinned: false, epoch: 0n, changedMs: clock.monotonicMs() };
    this.assignments = Array.from({ length: shards }, (_, shard) => ({ shard, ...assignment }));
  }

  async look(): Promise<Fleet> {
    this.answer();
    this.looks += 1;
    const members = [...this.members.values()].sort((a, b) => a.lane - b.lane);
    const nowMs = this.clock.monotonicMs();
    const assignments = this.assignments.map(({ changedMs, ...assignment }) => ({
      ...assignment,
      sinceMs: nowMs - changedMs,
    }));
    return { members, assignments, orphans: [...this.orphans.values()] };
  }

  async introduce(lane: number, epoch: bigint, introduction: MemberIntroduction): Promise<boolean> {
    this.answer();
    if (this.epochs.get(lane) !== epoch) return false;
    const { drained } = this.members.get(lane) ?? { drained: false };
    const weight = introduction.draining ? 0 : introduction.weight;
    this.members.set(lane, { ...introduction, weight, lane, drained, livedMs: 60_000, holder: `process-${lane}` });
    return true;
  }

  async resume(lane: number, epoch: bigint): Promise<readonly HeldShard[] | undefined> {
    this.answer();
    if (this.epochs.get(lane) !== epoch) return undefined;
    return this.raise(this.assignments.filter((assignment) => assignment.lane === lane));
  }

  async take(lane: number, epoch: bigint, seen: readonly HeldShard[]): Promise<readonly HeldShard[] | undefined> {
    this.answer();
    if (this.epochs.get(lane) !== epoch) return undefined;
    const isSeen = (assignment: HeldShard) =>
      seen.some((each) => each.shard === assignment.shard && each.epoch === assignment.epoch);
    const free = this.assignments.filter(
      (assignment) => (assignment.lane === undefined || assignment.lane === lane) && isSeen(assignment),
    );
    for (const assignment of free) assignment.lane = lane;
    return this.raise(free);
  }

  async free(lane: number, epoch: bigint, held: HeldShard): Promise<boolean> {
    this.answer();
    if (this.epochs.get(lane) !== epoch) return false;
    const freed = this.assignments.filter(
      (assignment) => assignment.lane === lane && assignment.shard === held.shard && assignment.epoch === held.epoch,
    );
    this.release(freed);
    return freed.length > 0;
  }

  async freeAll(lane: number, epoch: bigint): Promise<readonly number[] | undefined> {
    this.answer();
    if (this.epochs.get(lane) !== epoch) return undefined;
    const freed = this.assignments.filter((assignment) => assignment.lane === lane);
    this.release(freed);
    return freed.map(({ shard }) => shard);
  }

  /** Another process, which holds these shards. */
  join(lane: number, shards: readonly number[] = []): void {
    this.members.set(lane, {
      ...{
        lane,
        livedMs: 60_000,
        weight: 1,
        holder: `process-${lane}`,
        address: undefined,
        version: '1',
        draining: false,
        drained: false,
      },
    });
    for (const assignment of this.assignments) if (shards.includes(assignment.shard)) assignment.lane = lane;
  }

  /** It says that it is about to end. */
  end(lane: number): void {
    const member = this.members.get(lane);
    if (member !== undefined) this.members.set(lane, { ...member, weight: 0, draining: true });
  }

  /** It is gone, and its shards are free. */
  leave(lane: number): void {
    this.members.delete(lane);
    this.release(this.assignments.filter((assignment) => assignment.lane === lane));
  }

  /** As an operator does. */
  drain(lane: number): void {
    const member = this.members.get(lane);
    if (member !== undefined) this.members.set(lane, { ...member, weight: 0, drained: true });
  }

  of(lane: number): number[] {
    return this.assignments.filter((assignment) => assignment.lane === lane).map(({ shard }) => shard);
  }

  private release(assignments: MemoryFleet['assignments']): void {
    for (const assignment of assignments)
      Object.assign(assignment, { lane: undefined, changedMs: this.clock.monotonicMs() });
  }

  private raise(assignments: MemoryFleet['assignments']): HeldShard[] {
    return assignments.map((assignment) => {
      assignment.epoch += 1n;
      assignment.changedMs = this.clock.monotonicMs();
      return { shard: assignment.shard, epoch: assignment.epoch };
    });
  }

  private answer(): void {
    if (this.down) throw new Error('the database is away');
  }
}
