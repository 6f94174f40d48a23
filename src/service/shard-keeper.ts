import { isWell, planShards } from '../domain/plan-shards.ts';
import { defaultShardCount } from '../domain/shards.ts';
import type { Ingest } from '../ingest/ingest.ts';
import type { Log } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Lease } from '../runtime/lease.ts';
import { abortAfter, unlessAborted } from '../runtime/waiting.ts';
import type { Fleet, HeldShard, LaneMember, MemberCard, ShardStore, Unwell } from '../store/shard-store.ts';
import type { HeldShards } from './held-shards.ts';
import { OrphanLanes, type OrphanLanesDeps } from './orphan-lanes.ts';

interface ShardKeeperDeps extends OrphanLanesDeps {
  readonly store: ShardStore;
  readonly lease: Pick<Lease, 'lane' | 'epoch' | 'mayAct'>;
  readonly held: HeldShards;
  readonly sources: { review(): void };
  readonly ingest: Pick<Ingest, 'settled' | 'fence' | 'forgetOrders'>;
  /** Resolves once everything that this lane has committed is on Kafka; rejects when the signal aborts. */
  readonly published: (signal: AbortSignal) => Promise<void>;
  readonly lossCheck: {
    /**
     * Rejects when Kafka has updates that the database lacks: the database came back without the newest commits, perhaps those of a shard's last holder, which only
     * that one could know of. Resolves also when Kafka can't be asked.
     */
    begin(): Promise<void>;
    /** For how long it could not be asked; undefined: it could. */
    readonly failingForMs: number | undefined;
  };
  /** The part that takes commands for a shard. Left out where only the data path runs. */
  readonly desks?: ShardDesks;
  /** Whether this process is fit to hold shards; `others`: the other members. Left out: it always is. */
  readonly fitness?: { review(others: readonly LaneMember[]): Promise<Unwell | undefined> };
  /** How this process shows itself to the others, when a term begins. */
  readonly card: () => Omit<MemberCard, 'draining' | 'unwell'>;
  readonly metrics: Pick<Metrics['ingest'], 'shardsHeld' | 'shardsUnheld' | 'shardMoves' | 'laneFinishes'>;
  readonly clock: Clock;
  readonly log: Log;
}

interface ShardDesks {
  /** Rejects when the journal can't be read. */
  begin(shard: HeldShard): Promise<void>;
  /** From now on commands of the shard are declined. Resolves when none of it is in hand any more, or the signal aborts. */
  quiesce(shard: number, signal: AbortSignal): Promise<void>;
  end(shard: number): void | Promise<void>;
}

interface ShardKeeperOptions {
  /** Names this process in its lane's row. */
  readonly holder: string;
  /** A lane that was not renewed for so long has no live process. */
  readonly expireAfterMs: number;
  readonly lookEveryMs: number;
  /** The same while a shard is on its way or soon will be, in a small fleet. */
  readonly lookSoonMs: number;
  /** At most one shard of 16 is given in this time; one of 32 in half of it: accounts move equally fast with any number of shards. */
  readonly giveEveryMs: number;
  /** A shard that can't be given within this time is kept: Kafka or the database is away. */
  readonly giveWithinMs: number;
  /** Shards are given only to processes that have lived for so long. */
  readonly settledMs: number;
  /** A shard that has been free for so long is taken over. Longer than the time between two looks. */
  readonly overdueMs: number;
  /** For so long a process that ends gives its shards one by one. What it still has then is freed at the end, all at once. */
  readonly leaveWithinMs: number;
}

export const shardKeeperDefaults = {
  lookEveryMs: 500,
  lookSoonMs: 100,
  giveEveryMs: 5_000,
  giveWithinMs: 10_000,
  settledMs: 10_000,
  overdueMs: 1_000,
  leaveWithinMs: 10_000,
} as const;

/** So many processes may look at `lookSoonMs`. More of them look less often: Postgres answers each look. */
const smallFleet = 4;
/** A lane whose rows reach Kafka within this time can give a shard. */
const publishesWithinMs = 3_000;
/** The publishers are drained by then: positions that have not arrived after this time will not. */
const releaseWithinMs = 500;

/**
 * Takes, keeps and gives the shards of this process while it holds its lane (docs/decisions/036-a-fleet-of-lanes-and-shards.md).
 *
 * States: idle (no lane) → resumed (the lane's own shards are held again, nothing works on them yet) → working: one round after the other looks at the fleet and
 * does its part of the plan → idle. Invariant: a shard is freed only after nothing of it can be committed here any more, and everything that was committed is on
 * Kafka. The row of the shard decides; the plan is only a wish.
 */
export class ShardKeeper {
  private over: AbortController | undefined;
  private running: Promise<void> = Promise.resolve();
  private readonly orphans: OrphanLanes;
  private givenAtMs = Number.NEGATIVE_INFINITY;
  /** Held shards that take no commands yet: their journal could not be read. */
  private readonly waiting = new Map<number, HeldShard>();
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
  }

  /** The fleet at the last look; undefined: there was none yet. */
  get newest(): Fleet | undefined {
    return this.fleet;
  }

  /** The lane is ours: its shards are held again, under new epochs. Rejects when the database can't be reached, or the lane was lost again. */
  async resume(): Promise<void> {
    const { store, lease, held } = this.deps;
    const { lane, epoch } = lease;
    const shards = await store.resume(lane, epoch);
    if (shards === undefined || !(await store.introduce(lane, epoch, this.card())))
      throw new Error('the lane was lost while its shards were read');
    this.fleet = await store.look(this.options.expireAfterMs);
    held.count = this.fleet.seats.length;
    held.clear();
    this.waiting.clear();
    for (const shard of shards) this.hold(shard);
  }

  /** The sources have begun: commands of the held shards are taken, and the fleet is looked at from now on. Rejects when the journal can't be read. */
  async begin(): Promise<void> {
    await this.beginDesks();
    const over = new AbortController();
    this.over = over;
    this.running = this.run(over.signal);
  }

  /**
   * The process ends, and the others know it. It gives them its shards one by one while it works on the rest: so an account is without a process for one handover,
   * and not for the whole end. Resolves when it has none, nobody takes them, one can't be given, or the time is over; from then on it takes and gives nothing.
   */
  async retire(signal: AbortSignal): Promise<void> {
    const { store, lease, clock, log } = this.deps;
    this.leaving = true;
    if (this.over !== undefined) {
      using within = abortAfter(clock, this.options.leaveWithinMs, 'giving the shards', signal);
      await store.introduce(lease.lane, lease.epoch, this.card()).catch((err: unknown) => {
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
    await this.orphans.settled;
  }

  /** The lane is lost, or will be given back: no shard is ours from here on. */
  async end(): Promise<void> {
    this.over?.abort();
    const { held, desks, metrics } = this.deps;
    const shards = held.shards;
    held.clear();
    metrics.shardsHeld.set(0);
    this.waiting.clear();
    await Promise.all(shards.map(async (shard) => desks?.end(shard)));
    await this.pause();
  }

  /**
   * The process ends, and its sources, ingest and publishers are drained: frees its shards, so that others need not wait. What could not be published keeps the
   * shards with the lane, for the process that takes it.
   */
  async release(signal: AbortSignal): Promise<void> {
    const { store, lease, published, clock, log } = this.deps;
    const { lane, epoch } = lease;
    if (this.fleet === undefined || !lease.mayAct()) return;
    using within = abortAfter(clock, releaseWithinMs, 'freeing the shards', signal);
    try {
      await published(within.signal);
      await store.freeAll(lane, epoch);
    } catch (err) {
      log.warn({ err }, 'the shards stay with the lane, since not everything of it is on Kafka');
    }
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
    const { members, seats, orphans } = this.fleet;
    const isMoving =
      orphans.length > 0 || members.some(({ draining }) => draining) || seats.some(({ lane }) => lane === undefined);
    return isMoving ? Math.min(lookEveryMs, lookSoonMs * Math.max(1, members.length / smallFleet)) : lookEveryMs;
  }

  private async round(over: AbortSignal): Promise<void> {
    const { store, lease, clock, metrics } = this.deps;
    const { expireAfterMs, giveEveryMs } = this.options;
    const fleet = await store.look(expireAfterMs);
    this.fleet = fleet;
    // Another process may have taken the lane, and shards with it, before this one has learnt so: their epochs are not ours.
    const me = fleet.members.find(({ lane, holder }) => lane === lease.lane && holder === this.options.holder);
    if (over.aborted || me === undefined) return;
    this.unwell = await this.deps.fitness?.review(fleet.members.filter((member) => member !== me));
    // The database came back without it, or it shows another trouble than ours.
    if (me.version === '' || me.unwell?.trouble !== this.unwell?.trouble || me.unwell?.unfit !== this.unwell?.unfit)
      await store.introduce(lease.lane, lease.epoch, this.card());
    const live = new Set(fleet.members.map(({ lane }) => lane));
    metrics.shardsUnheld.set(fleet.seats.filter(({ lane }) => lane === undefined || !live.has(lane)).length);
    await this.compare(fleet, over);
    if (over.aborted) return;
    if (!this.leaving)
      this.orphans.review(fleet, { holds: this.deps.held.size > 0, isTroubled: this.unwell !== undefined }, over);
    await this.beginDesks();
    const plan = planShards(lease.lane, fleet.members, fleet.seats, this.options);
    const wanted = new Set([...plan.take, ...plan.takeOver]);
    const free = fleet.seats.filter(({ shard }) => wanted.has(shard));
    if (free.length > 0 && lease.mayAct() && !this.mustWait) await this.take(free, over);
    // Whose turn it was did not take it: to give it again at once would not help.
    if (plan.takeOver.length > 0) this.givenAtMs = clock.monotonicMs();
    metrics.shardsHeld.set(this.deps.held.size);
    const rests = me.weight > 0 ? giveEveryMs * Math.min(1, defaultShardCount / fleet.seats.length) : 0;
    if (plan.give === undefined || over.aborted || clock.monotonicMs() - this.givenAtMs < rests) return;
    this.keeping = !(await this.give(plan.give, over));
    this.givenAtMs = clock.monotonicMs();
  }

  private card(): MemberCard {
    return { ...this.deps.card(), draining: this.leaving, ...(this.unwell !== undefined && { unwell: this.unwell }) };
  }

  /** The answer to a taking or a freeing may have been lost, and an old taking may have been done late: the rows are right. */
  private async compare({ seats }: Fleet, over: AbortSignal): Promise<void> {
    const { lease, held } = this.deps;
    const ours = seats.filter(({ shard, lane }) => lane === lease.lane && !held.has(shard));
    const lost = seats.filter(
      ({ shard, lane, epoch }) => held.has(shard) && (lane !== lease.lane || held.get(shard)?.epoch !== epoch),
    );
    for (const { shard } of lost) void this.lose(shard);
    // Under a new epoch: commands that were journaled under the last one, and whose answer was lost, are swept as in a takeover.
    if (ours.length > 0 && !this.mustWait) await this.take(ours, over);
  }

  /**
   * While Kafka can't be asked a shard may be free only because the database came back without its taking, and without what that holder published. If that one lives,
   * it notices, and begins a generation, within the time in which it would lose its lane. Until then no free shard is worked on.
   */
  private get mustWait(): boolean {
    const { failingForMs } = this.deps.lossCheck;
    return failingForMs !== undefined && failingForMs < this.options.expireAfterMs;
  }

  private async take(seen: Fleet['seats'], over: AbortSignal): Promise<void> {
    const { store, lease, held, sources, ingest, metrics, log } = this.deps;
    const taken = await store.take(
      lease.lane,
      lease.epoch,
      seen.filter(({ shard }) => !held.has(shard)),
    );
    if (taken === undefined || taken.length === 0) return;
    await this.deps.lossCheck.begin();
    if (this.mustWait) return this.putBack(seen, taken);
    // A database that comes back without the taking may have given them to another process. Where that was before this batch, the look shows it. Where it is
    // after it, this batch is lost as well, and no later one is taken from us.
    await unlessAborted(ingest.fence(), over);
    const { seats } = await store.look(this.options.expireAfterMs);
    const isOurs = ({ shard, epoch }: HeldShard) =>
      seats.some((seat) => seat.shard === shard && seat.epoch === epoch && seat.lane === lease.lane);
    const ours = taken.filter(isOurs);
    if (over.aborted || ours.length === 0) return;
    for (const shard of ours) this.hold(shard);
    metrics.shardMoves.inc({ move: 'taken' }, ours.length);
    log.info({ shards: ours.map(({ shard }) => shard) }, 'shards taken: their accounts are followed');
    sources.review();
    await this.beginDesks();
  }

  /**
   * Frees what was free before, for a process that can ask Kafka. The rest stays in this lane's row, and is taken up when the wait is over: this lane may have
   * commits of it that are not on Kafka, or an operator wants it to stay.
   */
  private async putBack(seen: Fleet['seats'], taken: readonly HeldShard[]): Promise<void> {
    const { store, lease } = this.deps;
    const wereFree = new Set(seen.filter(({ lane, pinned }) => lane === undefined && !pinned).map(({ shard }) => shard));
    for (const each of taken) if (wereFree.has(each.shard)) await store.free(lease.lane, lease.epoch, each);
  }

  /** The last act frees the shard. Where something before it fails, the next look finds the shard to be ours, and takes it up again. */
  private async give(shard: number, over: AbortSignal): Promise<boolean> {
    const { store, lease, held, sources, ingest, published, desks, clock, metrics, log } = this.deps;
    const mine = held.get(shard);
    // While Kafka is away no shard can be given, so none is left without a process for a try.
    if (mine === undefined || !(await this.publishes(over))) return false;
    using within = abortAfter(clock, this.options.giveWithinMs, 'giving the shard', over);
    const { signal } = within;
    this.waiting.delete(shard);
    try {
      await desks?.quiesce(shard, signal);
      await desks?.end(shard);
      held.leave(shard);
      sources.review();
      held.drop(shard);
      signal.throwIfAborted();
      await unlessAborted(ingest.settled(), signal);
      await published(signal);
      if (!(await store.free(lease.lane, lease.epoch, mine))) return false;
      metrics.shardMoves.inc({ move: 'given' });
      log.info({ shard }, 'a shard was given to the fleet');
      return true;
    } catch (err) {
      if (over.aborted) return false;
      metrics.shardMoves.inc({ move: 'kept' });
      log.warn({ err, shard }, 'a shard could not be given and is kept');
      return false;
    }
  }

  private async publishes(over: AbortSignal): Promise<boolean> {
    const { published, clock } = this.deps;
    using within = abortAfter(clock, publishesWithinMs, 'publishing what was committed', over);
    return await published(within.signal).then(
      () => true,
      () => false,
    );
  }

  private hold(shard: HeldShard): void {
    const { held, ingest } = this.deps;
    ingest.forgetOrders((accountId) => held.shardOf(accountId) === shard.shard);
    held.add(shard);
    this.waiting.set(shard.shard, shard);
  }

  private async lose(shard: number): Promise<void> {
    const { held, sources, desks, metrics, log } = this.deps;
    metrics.shardMoves.inc({ move: 'lost' });
    log.error({ shard }, 'a shard of this lane was taken by another process, or once more by this one; it is left');
    held.drop(shard);
    this.waiting.delete(shard);
    sources.review();
    await desks?.end(shard);
  }

  private async beginDesks(): Promise<void> {
    for (const [number, shard] of this.waiting) {
      await this.deps.desks?.begin(shard);
      this.waiting.delete(number);
    }
  }
}
