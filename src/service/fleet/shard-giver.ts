import type { Ambient } from '../../observability/ambient.ts';
import type { Metrics } from '../../observability/metrics.ts';
import type { Lease } from '../../runtime/lease.ts';
import { abortAfter, unlessAborted } from '../../runtime/waiting.ts';
import type { ShardStore } from '../../store/fleet/shard-store.ts';
import type { Ingest } from '../orders/ingest.ts';
import type { HeldShards } from './held-shards.ts';
import type { ShardWork } from './shard-work.ts';

export interface ShardGiverDeps extends Pick<Ambient, 'clock' | 'log'> {
  readonly store: ShardStore;
  readonly lease: Pick<Lease, 'lane' | 'epoch' | 'mayAct'>;
  readonly held: HeldShards;
  readonly ingest: Pick<Ingest, 'committed'>;
  /**
   * Resolves once everything that this lane has committed is on
   * Kafka; rejects when the signal aborts.
   */
  readonly published: (signal: AbortSignal) => Promise<void>;
  readonly metrics: Pick<Metrics['ingest'], 'shardMoves'>;
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
  private readonly deps: ShardGiverDeps;
  private readonly work: ShardWork;
  private readonly giveWithinMs: number;

  /** `giveWithinMs`: a shard that can't be given within this time is kept. */
  constructor(deps: ShardGiverDeps, work: ShardWork, giveWithinMs: number) {
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
