import { isWell } from '../../domain/plan-shards.ts';
import type { ClockAndLogger } from '../../observability/ambient.ts';
import type { Metrics } from '../../observability/metrics.ts';
import type { Lease } from '../../runtime/lease.ts';
import type { Fleet } from '../../store/fleet/shard-store.ts';

export interface OrphanLanesDeps extends ClockAndLogger {
  readonly lease: Pick<Lease, 'lane'>;
  /**
   * Publishes the rest for a lane without a process, and frees its shards. Resolves also when
   * another process does it. Rejects when it could not, or a signal aborts.
   */
  readonly finish: (lane: number, ...signals: AbortSignal[]) => Promise<void>;
  /** Gives the lane back and takes another: one without a process comes first. */
  readonly changeLane: () => void;
  readonly metrics: Pick<Metrics['ingest'], 'laneFinishes'>;
}

interface OwnState {
  readonly holds: boolean;
  readonly isTroubled: boolean;
}

/** Some looks at the other processes: this one alone may be unable to reach Kafka. */
const restMs = 2_000;
/** A lane that can't be finished takes 20 s for a try. The others go on beside it. */
const atOnce = 3;

/**
 * This process's part in lanes left without a process
 * (docs/decisions/036-a-fleet-of-lanes-and-shards.md). Up to `atOnce` are finished side by side.
 * While it shows a trouble and another process is well, it finishes none, and leaves those it has
 * begun.
 *
 * Invariant: no lane delays another: after a failed try it rests, and comes behind all lanes with
 * an older last try.
 */
export class OrphanLanes {
  private readonly finishing = new Map<number, Promise<void>>();
  /** By lane: when its last try failed, by the monotonic clock. */
  private readonly failed = new Map<number, number>();
  private leaving = new AbortController();
  private readonly deps: OrphanLanesDeps;

  constructor(deps: OrphanLanesDeps) {
    this.deps = deps;
  }

  /** Resolves when no lane is being finished. */
  get ended(): Promise<unknown> | undefined {
    return this.finishing.size === 0 ? undefined : Promise.all(this.finishing.values());
  }

  /** `holds`: this process has a shard; `isTroubled`: it shows a trouble. Returns at once. */
  review({ orphans, assignments, members }: Fleet, { holds, isTroubled }: OwnState, over: AbortSignal): void {
    const { lease, changeLane } = this.deps;
    const isLeftOut = isTroubled && members.some((member) => member.lane !== lease.lane && isWell(member));
    if (isLeftOut) this.leaving.abort(new Error('this process is in trouble, and another one is well'));
    for (const lane of this.failed.keys())
      if (!orphans.some((orphan) => orphan.lane === lane)) this.failed.delete(lane);
    if (orphans.length === 0 || isLeftOut) return;
    const holdsShards = (lane: number) => assignments.some((assignment) => assignment.lane === lane);
    const taker = members.find(
      ({ lane, draining, drained, unwell }) =>
        !draining && !drained && unwell?.unhealthy !== true && !holdsShards(lane),
    );
    // A process without shards takes the lane whole, without need for Kafka: only one does, since
    // it has no lane for a moment, and does not count among those taking shards. The others, and
    // one meant to have none, can only finish it.
    if (!holds && taker?.lane === lease.lane && orphans.some(({ lane }) => holdsShards(lane))) {
      changeLane();
      return;
    }
    if (this.leaving.signal.aborted) this.leaving = new AbortController();
    for (const lane of this.nextOf(orphans)) {
      const finished = this.finish(lane, over, this.leaving.signal).finally(() => this.finishing.delete(lane));
      this.finishing.set(lane, finished);
    }
  }

  /** Those to begin now: never tried ones first, then the longest untried. */
  private nextOf(orphans: Fleet['orphans']): readonly number[] {
    const failedAt = (lane: number) => this.failed.get(lane) ?? Number.NEGATIVE_INFINITY;
    const latest = this.deps.clock.monotonicMs() - restMs;
    return orphans
      .map(({ lane }) => lane)
      .filter((lane) => !this.finishing.has(lane) && failedAt(lane) <= latest)
      .toSorted((a, b) => failedAt(a) - failedAt(b) || a - b)
      .slice(0, Math.max(0, atOnce - this.finishing.size));
  }

  private async finish(lane: number, over: AbortSignal, leaving: AbortSignal): Promise<void> {
    const { finish, metrics, clock, log } = this.deps;
    try {
      await finish(lane, over, leaving);
      metrics.laneFinishes.inc({ result: 'finished' });
      this.failed.delete(lane);
    } catch (err) {
      if (over.aborted) return;
      metrics.laneFinishes.inc({ result: 'failed' });
      if (!this.failed.has(lane))
        log.warn({ err, lane }, 'a lane without a process could not be finished; trying again');
      this.failed.set(lane, clock.monotonicMs());
    }
  }
}
