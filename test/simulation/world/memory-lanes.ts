import type { Clock } from '../../../src/runtime/clock.ts';
import type { Checkpoint, LaneCheckpoint } from '../../../src/runtime/lease.ts';
import type { Random } from '../../../src/runtime/random.ts';
import type { AcquireResult, FoundLoss, LaneHold, LaneStore } from '../../../src/store/fleet/lane-store.ts';
import {
  type DatabaseFaults,
  holdOf,
  type LaneRow,
  noDatabaseFaults,
  pickLane,
  spreadOf,
  takeoverOf,
  unknownIntroduction,
} from '../database-rows.ts';
import { MemoryShards } from './memory-shards.ts';

/**
 * The rows of lanes and shards of a database in memory, and the way of every call to it: how long
 * it takes, and how it fails.
 */
export abstract class MemoryLanes implements LaneStore {
  faults: DatabaseFaults = noDatabaseFaults;
  /** No call gets through while true. */
  down = false;
  /** How long a call is on its way before it is looked at. */
  callMs: () => number = () => this.random.next() * 3;
  readonly lanes = new Map<number, LaneRow>();
  readonly shards: MemoryShards;
  /** By lane and epoch: the monotonic time at which the row was last renewed under it. */
  readonly renewals = new Map<string, number>();
  /** The same, by lane and holder. */
  readonly holders = new Map<string, number>();
  /** Rises with each `restore`. */
  protected incarnation = 0;
  /** As `lacks_acts`: whether the journal lacks one that was seen. */
  lacksActs: (seen: Checkpoint['acts']) => boolean = () => false;
  /** Runs without a loss count epochs one by one. */
  spreadsEpochs = false;
  private lock: Promise<unknown> = Promise.resolve();
  protected readonly clock: Clock;
  protected readonly random: Random;

  constructor(clock: Clock, random: Random) {
    this.clock = clock;
    this.random = random;
    this.shards = new MemoryShards({
      lanes: this.lanes,
      clock,
      read: () => this.call(),
      write: (work) => this.statement(work),
      hasUnpublished: (lane) => this.hasUnpublished(lane),
      nextEpoch: (epoch, holder) => this.nextEpoch(epoch, holder),
    });
  }

  protected abstract hasUnpublished(lane: number): boolean;

  /** Commits were lost: every lane is fenced. */
  protected abstract beginGeneration(): FoundLoss;

  async pick(holder: string, expireAfterMs: number): Promise<number> {
    await this.call();
    const isLive = ({ renewedMs }: LaneRow) => Math.abs(this.clock.nowMs() - renewedMs) < expireAfterMs;
    return pickLane(this.lanes, this.shards.rows, holder, isLive);
  }

  async acquire(
    lane: number,
    holder: string,
    expireAfterMs: number,
    checkpointed?: Checkpoint,
  ): Promise<AcquireResult> {
    await this.call();
    return this.locked(async () => {
      const row = this.laneRow(lane);
      const foundLoss = this.lacks(lane, checkpointed) ? this.beginGeneration() : undefined;
      const found = foundLoss && { foundLoss };
      const ageMs = Math.abs(this.clock.nowMs() - row.renewedMs);
      if (row.holder !== undefined && row.holder !== holder && ageMs < expireAfterMs)
        return { kind: 'busy', holder: row.holder, ageMs, ...holdOf(row), ...found };
      const takeover = takeoverOf(row, holder, ageMs);
      row.drained &&= row.holder === holder;
      row.holder = holder;
      row.unpublishedAfter ??= row.batch;
      row.epoch = this.nextEpoch(row.epoch, holder);
      row.heldSinceMs = this.clock.nowMs();
      row.introduction = unknownIntroduction;
      this.renewed(lane, row);
      return { kind: 'held', ...holdOf(row), takeover, ...found };
    });
  }

  async renew(lane: number, epoch: bigint, checkpointed?: Checkpoint): Promise<'renewed' | 'refused' | 'forgotten'> {
    await this.call();
    const row = this.laneRow(lane);
    if (row.epoch !== epoch) return 'refused';
    this.renewed(lane, row);
    return this.lacks(lane, checkpointed) ? 'forgotten' : 'renewed';
  }

  async reclaim(lane: number, epoch: bigint): Promise<LaneHold | undefined> {
    await this.call();
    return this.locked(async () => {
      const row = this.laneRow(lane);
      if (row.epoch !== epoch) return undefined;
      row.epoch += 1n;
      this.renewed(lane, row);
      return holdOf(row);
    });
  }

  async holdBack(lane: number, epoch: bigint): Promise<void> {
    await this.call();
    const row = this.laneRow(lane);
    if (row.epoch === epoch) row.unpublishedAfter ??= row.batch;
  }

  async release(lane: number, epoch: bigint): Promise<void> {
    await this.call();
    const row = this.laneRow(lane);
    if (row.epoch !== epoch) return;
    row.holder = undefined;
    row.epoch += 1n;
    row.renewedMs = this.clock.nowMs();
  }

  /** The lane's row as it stands, for whoever looks from outside. */
  holdOf(lane: number): LaneHold {
    return holdOf(this.laneRow(lane));
  }

  /** As `lacks_commits`. */
  protected lacks(lane: number, checkpointed: Checkpoint | undefined): boolean {
    const { generation, epoch, batch } = this.lanes.get(lane) ?? { generation: this.generation, epoch: 0n, batch: 0n };
    if (checkpointed === undefined || generation > checkpointed.generation) return false;
    if (generation < checkpointed.generation || epoch < checkpointed.epoch || batch < checkpointed.batch) return true;
    return this.lacksActs(checkpointed.acts);
  }

  /** As `notice_loss`. */
  async noticeLoss(lane: number, seen: readonly LaneCheckpoint[], epoch?: bigint): Promise<FoundLoss | undefined> {
    await this.call();
    return this.locked(async () => {
      const lacking = seen.some((each) => this.lacks(each.lane, each) || (epoch !== undefined && this.isAhead(each)));
      const row = this.laneRow(lane);
      if (lacking) return this.beginGeneration();
      if (epoch === undefined) return undefined;
      if (row.epoch !== epoch) throw new Error(`lane ${lane} is not at epoch ${epoch} any more`);
      row.unpublishedAfter = undefined;
      return undefined;
    });
  }

  /** Kafka has a batch that its lane, as it stands, has not published. */
  private isAhead({ lane, generation, batch }: LaneCheckpoint): boolean {
    const row = this.lanes.get(lane);
    return row?.generation === generation && row.unpublishedAfter !== undefined && batch > row.unpublishedAfter;
  }

  /** The newest generation, for whoever looks from outside. */
  get generation(): number {
    return Math.max(1, ...[...this.lanes.values()].map((row) => row.generation));
  }

  get restored(): boolean {
    return this.incarnation > 0;
  }

  protected renewed(lane: number, row: LaneRow): void {
    row.renewedMs = this.clock.nowMs();
    this.renewals.set(`${lane} ${row.epoch}`, this.clock.monotonicMs());
    this.holders.set(`${lane} ${row.holder}`, this.clock.monotonicMs());
  }

  /**
   * As Postgres spreads them, where a loss is planned: a taking that is lost, and a generation that
   * begins then, must not give the same epoch.
   */
  private nextEpoch(epoch: bigint, holder: string): bigint {
    return epoch + 1n + (this.spreadsEpochs ? BigInt(spreadOf(`${holder} ${epoch}`)) : 0n);
  }

  protected laneRow(lane: number): LaneRow {
    const row = this.lanes.get(lane) ?? {
      holder: undefined,
      epoch: 0n,
      batch: 0n,
      renewedMs: Number.NEGATIVE_INFINITY,
      generation: Math.max(1, ...[...this.lanes.values()].map(({ generation }) => generation)),
      heldSinceMs: 0,
      drained: false,
      introduction: unknownIntroduction,
    };
    this.lanes.set(lane, row);
    return row;
  }

  protected async call(): Promise<void> {
    const ms = this.callMs();
    if (ms > 0) await this.clock.sleep(ms);
    if (this.down || this.random.next() < this.faults.unreachable) throw new Error('the database cannot be reached');
  }

  /**
   * One statement that may outlive its client: its answer is lost, or its
   * connection breaks and it is done long after.
   */
  protected async statement<T>(work: () => T): Promise<T> {
    await this.call();
    const { orphan, lostAnswer } = this.faults;
    const dice = this.random.next();
    const { incarnation } = this;
    if (dice < orphan) {
      const late = async () => (this.down || incarnation !== this.incarnation ? undefined : work());
      this.clock.after(this.random.next() * 4_000, () => void this.locked(late));
      throw new Error('the connection broke');
    }
    const result = await this.locked(async () => work());
    if (dice >= 1 - lostAnswer) throw new Error('the answer was lost');
    return result;
  }

  protected locked<T>(work: () => Promise<T>): Promise<T> {
    const result = this.lock.then(work);
    this.lock = result.catch(() => undefined);
    return result;
  }
}
