import { isDeepStrictEqual } from 'node:util';
import { emptyReport, type MemberReport } from '../../domain/member-report.ts';
import { defaultShardCount } from '../../domain/partition.ts';
import { isWell, planShards } from '../../domain/plan-shards.ts';
import { present } from '../../domain/present.ts';
import type { Metrics } from '../../observability/metrics.ts';
import { abortAfter, unlessAborted } from '../../runtime/waiting.ts';
import type { Fleet, LaneMember, MemberIntroduction, Unwell } from '../../store/fleet/shard-store.ts';
import { OrphanLanes, type OrphanLanesDeps } from './orphan-lanes.ts';
import { ShardGiver, type ShardMovesDeps, ShardTaker } from './shard-moves.ts';
import { ShardWork, type ShardWorkDeps } from './shard-work.ts';

type ShardKeeperDeps = OrphanLanesDeps &
  ShardWorkDeps &
  ShardMovesDeps & {
    /**
     * Whether this process is healthy enough to hold shards; `others`: the
     * other members. Left out: it always is.
     */
    readonly fitness?: { review(others: readonly LaneMember[]): Promise<Unwell | undefined> };
    /** How this process shows itself to the others. */
    readonly introduction: () => Omit<MemberIntroduction, 'draining' | 'unwell' | 'report'>;
    /** What this process tells the others of its work. Left out: nothing. */
    readonly report?: () => MemberReport;
    readonly metrics: Pick<Metrics['ingest'], 'shardsHeld' | 'shardsUnassigned'>;
  };

interface ShardKeeperOptions {
  /** Names this process in its lane's row. */
  readonly holder: string;
  /** A lane that was not renewed for so long has no live process. */
  readonly expireAfterMs: number;
  readonly lookEveryMs: number;
  /** The same while a shard is on its way or soon will be, in a small fleet. */
  readonly lookSoonMs: number;
  /**
   * At most one shard in 16 is given in this time; one in 32 in half the time: accounts move
   * equally fast with any number.
   */
  readonly giveEveryMs: number;
  /** A shard that can't be given within this time is kept: Kafka or the database is away. */
  readonly giveWithinMs: number;
  /** Shards are given only to processes that have lived for so long. */
  readonly steadyMs: number;
  /**
   * A shard that has been free for so long is taken over. Longer than the time between two looks.
   */
  readonly overdueMs: number;
  /**
   * For so long a process that ends gives its shards one by one. What it still
   * has then is freed at the end, all at once.
   */
  readonly leaveWithinMs: number;
}

export const shardKeeperDefaults = {
  lookEveryMs: 500,
  lookSoonMs: 100,
  giveEveryMs: 5_000,
  giveWithinMs: 10_000,
  steadyMs: 10_000,
  overdueMs: 1_000,
  leaveWithinMs: 10_000,
} as const;

/**
 * So many processes may look at `lookSoonMs`. More of them look
 * less often: Postgres answers each look.
 */
const smallFleet = 4;

/**
 * Takes, keeps and gives this process's shards while it holds its lane
 * (docs/decisions/036-a-fleet-of-lanes-and-shards.md).
 *
 * States: idle (no lane) → resumed (the lane's own shards are held again, nothing works on them
 * yet) → working: one round after the other looks at the fleet and does its part in the plan →
 * idle. The shard's row decides; the plan is only a wish.
 */
export class ShardKeeper {
  private over: AbortController | undefined;
  private running: Promise<void> = Promise.resolve();
  private readonly orphans: OrphanLanes;
  private readonly work: ShardWork;
  private readonly taker: ShardTaker;
  private readonly giver: ShardGiver;
  private givenAtMs = Number.NEGATIVE_INFINITY;
  private failing = false;
  /** The process ends. */
  private leaving = false;
  /** The last shard that was to be given could not be. */
  private keeping = false;
  private fleet: Fleet | undefined;
  private unwell: Unwell | undefined;
  private readonly deps: ShardKeeperDeps;
  private readonly options: ShardKeeperOptions;

  constructor(deps: ShardKeeperDeps, options: ShardKeeperOptions) {
    this.deps = deps;
    this.options = options;
    this.orphans = new OrphanLanes(deps);
    this.work = new ShardWork(deps);
    this.taker = new ShardTaker(deps, options.expireAfterMs);
    this.giver = new ShardGiver(deps, this.work, options.giveWithinMs);
  }

  /** The fleet at the last look; undefined: there was none yet. */
  get newest(): Fleet | undefined {
    return this.fleet;
  }

  /**
   * The lane is ours: its shards are held again, under new epochs. Rejects when the database can't
   * be reached, or the lane was lost again.
   */
  async resume(): Promise<void> {
    const { store, lease } = this.deps;
    const { lane, epoch } = lease;
    const shards = await store.resume(lane, epoch);
    if (shards === undefined) throw new Error('the lane was lost while its shards were read');
    this.fleet = await store.look(this.options.expireAfterMs);
    this.work.resume(this.fleet.assignments.length, shards);
  }

  /**
   * The sources have begun: held shards' commands are taken, and the fleet is looked at from now
   * on. Only now the others learn to expect it as a taker: before, a free shard would wait for it.
   * Rejects when journal or database can't be read, or the lane was lost again.
   */
  async begin(): Promise<void> {
    const { store, lease } = this.deps;
    await this.work.beginCommands();
    if (!(await store.introduce(lease.lane, lease.epoch, this.introduction())))
      throw new Error('the lane was lost before its work began');
    const over = new AbortController();
    this.over = over;
    this.running = this.run(over.signal);
  }

  /**
   * The process ends, and the others know it. It gives them its shards one by one while it works on
   * the rest: so an account is without a process for one handover, and not for the whole end.
   * Resolves when it has none, no other process takes them, one can't be given, or the time is
   * over; from then on it takes and gives nothing.
   */
  async retire(signal: AbortSignal): Promise<void> {
    const { store, lease, clock, log } = this.deps;
    this.leaving = true;
    if (this.over !== undefined) {
      using within = abortAfter(clock, this.options.leaveWithinMs, 'giving the shards', signal);
      await store.introduce(lease.lane, lease.epoch, this.introduction()).catch((err: unknown) => {
        log.debug({ err }, 'the others could not be shown that this process ends');
      });
      if (this.canLeaveShards) await unlessAborted(this.running, within.signal).catch(() => undefined);
    }
    await this.pause();
  }

  /** There are shards to give, and others that take them. */
  private get canLeaveShards(): boolean {
    const { held, lease } = this.deps;
    const others = this.fleet?.members.filter(({ lane }) => lane !== lease.lane) ?? [];
    return held.size > 0 && others.some(isWell);
  }

  private async pause(): Promise<void> {
    this.over?.abort();
    this.over = undefined;
    await this.running;
    await this.orphans.ended;
  }

  /** The lane is lost, or will be given back: no shard is ours from here on. */
  async end(): Promise<void> {
    this.over?.abort();
    await this.work.end();
    await this.pause();
  }

  /**
   * The process ends, and its sources, ingest and publishers are drained: frees the shards it still
   * has. Never rejects.
   */
  async release(signal: AbortSignal): Promise<void> {
    if (this.fleet !== undefined) await this.giver.release(signal);
  }

  private async run(over: AbortSignal): Promise<void> {
    const { clock, log } = this.deps;
    while (!over.aborted) {
      try {
        await this.round(over);
        if (this.failing) log.info({}, 'the fleet can be looked at again');
        this.failing = false;
      } catch (err) {
        if (!this.failing && !over.aborted) log.warn({ err }, 'the fleet could not be looked at; trying again');
        this.failing = true;
      }
      if (this.leaving && (this.failing || this.keeping || !this.canLeaveShards)) return;
      await clock.sleep(this.restMs(), over);
    }
  }

  /** A shard that is free, or soon will be, is without a process until the next look. */
  private restMs(): number {
    const { lookEveryMs, lookSoonMs } = this.options;
    if (this.fleet === undefined || this.failing) return lookEveryMs;
    const { members, assignments, orphans } = this.fleet;
    const isMoving =
      orphans.length > 0 ||
      members.some(({ draining }) => draining) ||
      assignments.some(({ lane }) => lane === undefined);
    return isMoving ? Math.min(lookEveryMs, lookSoonMs * Math.max(1, members.length / smallFleet)) : lookEveryMs;
  }

  private async round(over: AbortSignal): Promise<void> {
    const { store, lease, clock, metrics } = this.deps;
    const { expireAfterMs, giveEveryMs } = this.options;
    const fleet = await store.look(expireAfterMs);
    this.fleet = fleet;
    // Another process may have taken the lane, and shards with it, before this one has learnt so:
    // their epochs are not ours.
    const me = fleet.members.find(({ lane, holder }) => lane === lease.lane && holder === this.options.holder);
    if (over.aborted || me === undefined) return;
    this.unwell = await this.deps.fitness?.review(fleet.members.filter((member) => member !== me));
    // The database came back without it, or it shows another trouble than ours.
    const isAsShown = me.unwell?.trouble === this.unwell?.trouble && me.unwell?.unhealthy === this.unwell?.unhealthy;
    if (me.version === '' || !isAsShown || !isDeepStrictEqual(me.report ?? emptyReport, this.report()))
      await store.introduce(lease.lane, lease.epoch, this.introduction());
    const live = new Set(fleet.members.map(({ lane }) => lane));
    metrics.shardsUnassigned.set(fleet.assignments.filter(({ lane }) => lane === undefined || !live.has(lane)).length);
    await this.compare(fleet, over);
    if (over.aborted) return;
    if (!this.leaving)
      this.orphans.review(fleet, { holds: this.deps.held.size > 0, isTroubled: this.unwell !== undefined }, over);
    await this.work.beginCommands();
    const plan = planShards(lease.lane, fleet.members, fleet.assignments, this.options);
    const wanted = new Set([...plan.take, ...plan.takeOver]);
    const free = fleet.assignments.filter(({ shard }) => wanted.has(shard));
    if (free.length > 0 && lease.mayAct()) await this.take(free, over);
    // Whose turn it was did not take it: to give it again at once would not help.
    if (plan.takeOver.length > 0) this.givenAtMs = clock.monotonicMs();
    metrics.shardsHeld.set(this.deps.held.size);
    const rests = me.weight > 0 ? giveEveryMs * Math.min(1, defaultShardCount / fleet.assignments.length) : 0;
    if (plan.give === undefined || over.aborted || clock.monotonicMs() - this.givenAtMs < rests) return;
    this.keeping = !(await this.giver.give(plan.give, over));
    this.givenAtMs = clock.monotonicMs();
  }

  private introduction(): MemberIntroduction {
    return {
      ...this.deps.introduction(),
      draining: this.leaving,
      report: this.report(),
      ...present({ unwell: this.unwell }),
    };
  }

  private report(): MemberReport {
    return this.deps.report?.() ?? emptyReport;
  }

  /**
   * The answer to a taking or a freeing may have been lost, and an old taking may have been done
   * late: the rows are right.
   */
  private async compare({ assignments }: Fleet, over: AbortSignal): Promise<void> {
    const { lease, held } = this.deps;
    const ours = assignments.filter(({ shard, lane }) => lane === lease.lane && !held.has(shard));
    const lost = assignments.filter(
      ({ shard, lane, epoch }) => held.has(shard) && (lane !== lease.lane || held.get(shard)?.epoch !== epoch),
    );
    for (const { shard } of lost) void this.work.lose(shard);
    // Under a new epoch: commands journaled under the last one, without an answer, are swept as in
    // a takeover.
    if (ours.length > 0) await this.take(ours, over);
  }

  private async take(seen: Fleet['assignments'], over: AbortSignal): Promise<void> {
    if (this.taker.mustWait) return;
    const ours = await this.taker.take(seen, over);
    if (!over.aborted && ours.length > 0) await this.work.add(ours);
  }
}
