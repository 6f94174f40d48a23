import { isWell } from '../domain/plan-shards.ts';
import type { Log } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Lease } from '../runtime/lease.ts';
import type { Fleet } from '../store/shard-store.ts';

export interface OrphanLanesDeps {
  readonly lease: Pick<Lease, 'lane'>;
  /** Publishes the rest of a lane that has no process, and frees its shards. Resolves also when another process does it. Rejects when it could not, or one of the signals aborts. */
  readonly finish: (lane: number, ...signals: AbortSignal[]) => Promise<void>;
  /** Gives the lane back and takes another: one without a process comes first. */
  readonly changeLane: () => void;
  readonly metrics: Pick<Metrics['ingest'], 'laneFinishes'>;
  readonly clock: Clock;
  readonly log: Log;
}

interface OwnState {
  readonly holds: boolean;
  readonly isTroubled: boolean;
}

/** Some looks of the other processes. */
const restMs = 2_000;

/**
 * The part of this process in what lanes without a process left behind (docs/decisions/036-a-fleet-of-lanes-and-shards.md). One lane is finished at a time; after
 * a failure the others come first, since this process may be the only one that can't reach Kafka. While it shows a trouble and another process is well, it finishes
 * none, and leaves the one that it has begun.
 */
export class OrphanLanes {
  private finishing: Promise<void> | undefined;
  private leaving = new AbortController();
  private failing = false;
  private againMs = Number.NEGATIVE_INFINITY;
  private readonly deps: OrphanLanesDeps;

  constructor(deps: OrphanLanesDeps) {
    this.deps = deps;
  }

  /** Resolves when no lane is being finished. */
  get settled(): Promise<void> | undefined {
    return this.finishing;
  }

  /** `holds`: this process has a shard; `isTroubled`: it shows a trouble. Returns at once. */
  review({ orphans, seats, members }: Fleet, { holds, isTroubled }: OwnState, over: AbortSignal): void {
    const { lease, changeLane, clock } = this.deps;
    const isLeftOut = isTroubled && members.some((member) => member.lane !== lease.lane && isWell(member));
    if (isLeftOut) this.leaving.abort(new Error('this process is in trouble, and another one is well'));
    if (orphans.length === 0 || isLeftOut) return;
    const holdsShards = (lane: number) => seats.some((seat) => seat.lane === lane);
    const taker = members.find(
      ({ lane, draining, drained, unwell }) => !draining && !drained && unwell?.unfit !== true && !holdsShards(lane),
    );
    // A process without shards takes the lane whole, which does not need Kafka: only one of them, since it has no lane for a moment, and counts as none that takes
    // shards. The others, and one that shall have none, can only finish it.
    if (!holds && taker?.lane === lease.lane && orphans.some(({ lane }) => holdsShards(lane))) {
      changeLane();
      return;
    }
    const [orphan] = orphans;
    if (orphan === undefined || this.finishing !== undefined || clock.monotonicMs() < this.againMs) return;
    this.finishing = this.finish(orphan.lane, over).finally(() => {
      this.finishing = undefined;
    });
  }

  private async finish(lane: number, over: AbortSignal): Promise<void> {
    const { finish, metrics, clock, log } = this.deps;
    this.leaving = new AbortController();
    try {
      await finish(lane, over, this.leaving.signal);
      metrics.laneFinishes.inc({ outcome: 'finished' });
      this.failing = false;
    } catch (err) {
      if (over.aborted) return;
      metrics.laneFinishes.inc({ outcome: 'failed' });
      if (!this.failing) log.warn({ err, lane }, 'a lane without a process could not be finished; trying again');
      this.failing = true;
      this.againMs = clock.monotonicMs() + restMs;
    }
  }
}
