import type { Log } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Takeover } from '../store/lane-store.ts';

export interface LaneRecordDeps {
  readonly clock: Clock;
  readonly metrics: Pick<Metrics['ingest'], 'laneHeld' | 'laneEpoch' | 'laneTakeovers' | 'laneTakeoverSeconds' | 'fenced'>;
  readonly log: Log;
}

/** What this process knows of its lane, for people. */
export interface LaneSight {
  /** Who held it when we last looked: our own name while we do; undefined where nobody did, or we have not looked since we lost it. */
  readonly holder: string | undefined;
  /** The fencing number of whoever that is. */
  readonly epoch: bigint;
  /** Wall time since when it is known that they hold it. */
  readonly sinceMs: number | undefined;
  /** How we last came to hold it; undefined: never. */
  readonly takeover: (Takeover & { readonly atMs: number; readonly epoch: bigint }) | undefined;
  /** How often we have taken it. */
  readonly takeovers: number;
  /** How often Postgres has refused a write of ours because the lane was somebody else's. */
  readonly fenced: number;
}

/**
 * Keeps what is told of the lane by `/status` and the metrics, so that the keeper keeps the lane alone. Nothing is decided by it.
 */
export class LaneRecord {
  private known: LaneSight = {
    ...{ holder: undefined, epoch: 0n, sinceMs: undefined, takeover: undefined },
    ...{ takeovers: 0, fenced: 0 },
  };
  private readonly deps: LaneRecordDeps;

  constructor(deps: LaneRecordDeps) {
    this.deps = deps;
  }

  get sight(): LaneSight {
    return this.known;
  }

  /** Somebody else holds it. */
  busy(holder: string, epoch: bigint): void {
    this.deps.metrics.laneEpoch.set(Number(epoch));
    if (holder === this.known.holder && epoch === this.known.epoch) return;
    const sinceMs = holder === this.known.holder ? this.known.sinceMs : this.deps.clock.nowMs();
    this.known = { ...this.known, holder, epoch, sinceMs };
  }

  taken(holder: string, epoch: bigint, takeover: Takeover): void {
    const { clock, metrics } = this.deps;
    const atMs = clock.nowMs();
    const takeovers = this.known.takeovers + 1;
    this.known = { ...this.known, holder, epoch, sinceMs: atMs, takeover: { ...takeover, atMs, epoch }, takeovers };
    metrics.laneTakeovers.inc({ cause: takeover.cause });
    if (takeover.cause === 'released' || takeover.cause === 'expired')
      metrics.laneTakeoverSeconds.observe({ cause: takeover.cause }, takeover.idleMs / 1000);
  }

  /** It is ours under this number: after taking it, and after each renewal and reclaim. */
  confirmed(epoch: bigint): void {
    this.deps.metrics.laneHeld.set(1);
    this.deps.metrics.laneEpoch.set(Number(epoch));
    this.known = { ...this.known, epoch };
  }

  /** It is not ours any more. */
  lost(): void {
    this.deps.metrics.laneHeld.set(0);
    this.known = { ...this.known, holder: undefined, sinceMs: undefined };
  }

  /** Postgres refused what we wrote: the lane's row has another epoch. */
  refused(what: 'batch' | 'renewal' | 'reclaim' | 'journal'): void {
    this.deps.metrics.fenced.inc({ by: 'postgres' });
    this.known = { ...this.known, fenced: this.known.fenced + 1 };
    this.deps.log.warn(
      { what, epoch: this.known.epoch.toString() },
      'fenced by Postgres: the lane has another epoch; nothing was written',
    );
  }
}
