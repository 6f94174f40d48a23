import type { ClockAndLogger } from '../../observability/ambient.ts';
import type { Metrics } from '../../observability/metrics.ts';
import type { Lease } from '../../runtime/lease.ts';
import { abortAfter, unlessAborted } from '../../runtime/waiting.ts';
import type { Fleet, HeldShard, ShardStore } from '../../store/fleet/shard-store.ts';
import type { Ingest } from '../orders/ingest.ts';
import type { HeldShards } from './held-shards.ts';
import type { LossCheck } from './loss-check.ts';
import type { ShardWork } from './shard-work.ts';

export interface ShardMovesDeps extends ClockAndLogger {
  readonly store: ShardStore;
  readonly lease: Pick<Lease, 'lane' | 'epoch' | 'mayAct'>;
  readonly held: HeldShards;
  readonly ingest: Pick<Ingest, 'committed' | 'fence'>;
  /**
   * A database that came back without its newest commits may lack those of a shard's last holder,
   * and only the holder could know them.
   */
  readonly lossCheck: Pick<LossCheck, 'begin' | 'failingForMs'>;
  /**
   * Resolves once everything that this lane has committed is on
   * Kafka; rejects when the signal aborts.
   */
  readonly published: (signal: AbortSignal) => Promise<void>;
  readonly metrics: Pick<Metrics['ingest'], 'shardMoves'>;
}

/**
 * Takes shards in the database, and finds out whether they are ours to work on
 * (docs/decisions/036-a-fleet-of-lanes-and-shards.md).
 */
export class ShardTaker {
  private readonly deps: ShardMovesDeps;
  private readonly expireAfterMs: number;

  /** `expireAfterMs`: a lane that was not renewed for so long has no live process. */
  constructor(deps: ShardMovesDeps, expireAfterMs: number) {
    this.deps = deps;
    this.expireAfterMs = expireAfterMs;
  }

  /**
   * While Kafka can't be asked, a shard may be free only because the database came back without its
   * taking, and without its holder's publications. If the holder lives, it notices, and begins a
   * generation before it would lose its lane. Until then no free shard is worked on.
   */
  get mustWait(): boolean {
    const { failingForMs } = this.deps.lossCheck;
    return failingForMs !== undefined && failingForMs < this.expireAfterMs;
  }

  /**
   * Gives back those now ours, to work on. Rejects when the database can't be reached, or has lost
   * commits.
   */
  async take(seen: Fleet['assignments'], over: AbortSignal): Promise<readonly HeldShard[]> {
    const { store, lease, held } = this.deps;
    const notHeld = seen.filter(({ shard }) => !held.has(shard));
    const taken = (await store.take(lease.lane, lease.epoch, notHeld)) ?? [];
    return taken.length === 0 || over.aborted ? [] : this.confirm(taken, seen, over);
  }

  private async confirm(
    taken: readonly HeldShard[],
    seen: Fleet['assignments'],
    over: AbortSignal,
  ): Promise<readonly HeldShard[]> {
    const { store, lease, ingest, lossCheck } = this.deps;
    // A database without the taking may have given them to another process. If it was before the
    // fence's batch, the look shows it. If it was after, this batch is lost as well, and no later
    // one is taken from us.
    await Promise.all([lossCheck.begin(), unlessAborted(ingest.fence(), over)]);
    if (this.mustWait) {
      await this.putBack(seen, taken);
      return [];
    }
    const { assignments } = await store.look(this.expireAfterMs);
    if (over.aborted) return [];
    return taken.filter(({ shard, epoch }) =>
      assignments.some(
        (assignment) => assignment.shard === shard && assignment.epoch === epoch && assignment.lane === lease.lane,
      ),
    );
  }

  /**
   * Frees what was free before, for a process able to ask Kafka. The rest stays in this lane's row,
   * and is taken up when the wait is over: this lane may have commits missing on Kafka, or an
   * operator wants it to stay.
   */
  private async putBack(seen: Fleet['assignments'], taken: readonly HeldShard[]): Promise<void> {
    const { store, lease } = this.deps;
    const wereFree = new Set(
      seen.filter(({ lane, pinned }) => lane === undefined && !pinned).map(({ shard }) => shard),
    );
    for (const each of taken) if (wereFree.has(each.shard)) await store.free(lease.lane, lease.epoch, each);
  }
}

/** A lane whose rows reach Kafka within this time can give a shard. */
const publishesWithinMs = 3_000;
/** Each try leaves the accounts for up to 10 s: after one in vain they are followed for a while. */
const restMs = 30_000;
/** The publishers are drained by then: positions that have not arrived after this time will not. */
const releaseWithinMs = 500;

/**
 * Frees this lane's shards. Invariant: a shard is freed only after nothing can be committed for it
 * here any more, and everything committed is on Kafka.
 */
export class ShardGiver {
  /** Monotonic. */
  private keptAtMs = Number.NEGATIVE_INFINITY;
  private readonly deps: ShardMovesDeps;
  private readonly work: ShardWork;
  private readonly giveWithinMs: number;

  /** `giveWithinMs`: a shard that can't be given within this time is kept. */
  constructor(deps: ShardMovesDeps, work: ShardWork, giveWithinMs: number) {
    this.deps = deps;
    this.work = work;
    this.giveWithinMs = giveWithinMs;
  }

  /**
   * True: the shard is free. Never rejects. The last act frees it: if something before fails, the
   * next look finds the shard to be ours, and takes it up again.
   */
  async give(shard: number, over: AbortSignal): Promise<boolean> {
    const { store, lease, held, ingest, published, clock, metrics, log } = this.deps;
    const mine = held.get(shard);
    // While Kafka is away no shard can be given, so none is left without a process for a try.
    if (mine === undefined || clock.monotonicMs() - this.keptAtMs < restMs || !(await this.publishes(over)))
      return false;
    using within = abortAfter(clock, this.giveWithinMs, 'giving the shard', over);
    const { signal } = within;
    try {
      await this.work.leave(shard, signal);
      signal.throwIfAborted();
      await unlessAborted(ingest.committed(), signal);
      await published(signal);
      if (!(await store.free(lease.lane, lease.epoch, mine))) return false;
      metrics.shardMoves.inc({ move: 'given' });
      log.info({ shard }, 'a shard was given to the fleet');
      return true;
    } catch (err) {
      if (over.aborted) return false;
      this.keptAtMs = clock.monotonicMs();
      metrics.shardMoves.inc({ move: 'kept' });
      log.warn({ err, shard }, 'a shard could not be given and is kept');
      return false;
    }
  }

  /**
   * The process ends, and its sources, ingest and publishers are drained: frees its shards, so
   * others need not wait. What could not be published keeps the shards with the lane, for the
   * process that takes it. Never rejects.
   */
  async release(signal: AbortSignal): Promise<void> {
    const { store, lease, published, clock, log } = this.deps;
    // A drain that gave up may have left a batch under way: it commits behind what was published.
    if (signal.aborted || !lease.mayAct()) return;
    const { lane, epoch } = lease;
    using within = abortAfter(clock, releaseWithinMs, 'freeing the shards', signal);
    try {
      await published(within.signal);
      await store.freeAll(lane, epoch);
    } catch (err) {
      log.warn({ err }, 'the shards stay with the lane, since not everything of it is on Kafka');
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
}
