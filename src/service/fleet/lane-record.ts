import type { ClockAndLogger } from '../../observability/ambient.ts';
import type { Metrics } from '../../observability/metrics.ts';
import type { Takeover } from '../../store/fleet/lane-store.ts';

interface LaneRecordDeps extends ClockAndLogger {
  readonly metrics: Metrics['ingest'];
}

/** The knowledge of this process about its lane, for people. */
export interface LaneView {
  /**
   * The holder at our last look: our own name while we hold it; undefined where the lane was free,
   * or we have not looked since we lost it.
   */
  readonly holder: string | undefined;
  /** Its holder's fencing number. */
  readonly epoch: bigint;
  /** Wall time since when that process is known to hold it. */
  readonly sinceMs: number | undefined;
  /** How we last came to hold it; undefined: never. */
  readonly takeover: (Takeover & { readonly atMs: number; readonly epoch: bigint }) | undefined;
  /** How often we have taken it. */
  readonly takeovers: number;
  /** How often Postgres has refused a write of ours because another process held the lane. */
  readonly fenced: number;
}

/**
 * Keeps the facts about the lane that `/status` and the metrics show, so the keeper only keeps the
 * lane. Nothing is decided by them.
 */
export class LaneRecord {
  private known: LaneView = {
    holder: undefined,
    epoch: 0n,
    sinceMs: undefined,
    takeover: undefined,
    takeovers: 0,
    fenced: 0,
  };
  private readonly deps: LaneRecordDeps;

  constructor(deps: LaneRecordDeps) {
    this.deps = deps;
  }

  get view(): LaneView {
    return this.known;
  }

  /** Another process holds it. */
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

  /** It is no longer ours. */
  lost(): void {
    this.deps.metrics.laneHeld.set(0);
    this.known = { ...this.known, holder: undefined, sinceMs: undefined };
  }

  /** Postgres refused a write of ours: the lane's row has another epoch. */
  refused(what: 'batch' | 'renewal' | 'reclaim'): void {
    this.deps.metrics.fenced.inc({ by: 'postgres' });
    this.known = { ...this.known, fenced: this.known.fenced + 1 };
    this.deps.log.warn(
      { what, epoch: this.known.epoch.toString() },
      'fenced by Postgres: the lane has another epoch; nothing was written',
    );
  }
}
