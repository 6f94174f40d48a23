import type { Logger } from '../../observability/logger.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Lease } from '../../runtime/lease.ts';
import { SingleFlight } from '../../runtime/waiting.ts';
import type { RelayCursor, UpdateLog } from '../../store/orders/update-log.ts';
import { TroubleReport } from './term-loop.ts';

interface PositionDeps {
  readonly log: UpdateLog;
  readonly lease: Lease;
  readonly logger: Logger;
  readonly clock: Clock;
}

/**
 * One cursor's position, and its durable part. It is saved at intervals, not with each
 * acknowledgement: after a crash the rows between are sent again, and the readers drop them.
 *
 * Invariant: `saved <= reached`, both only rise; nothing is saved under an epoch that the lane's
 * row no longer shows. `fenced` is true from the first refusal until the lease shows another epoch:
 * a reclaim within a term raises ours, and a refusal before its answer must not end the term.
 */
export class Position {
  private reachedSeq = 0n;
  private savedSeq = 0n;
  private refusedEpoch: bigint | undefined;
  private readonly saving = new SingleFlight<void>();
  private readonly trouble: TroubleReport;
  private readonly deps: PositionDeps;
  private readonly lane: number;
  private readonly cursor: RelayCursor;

  constructor(deps: PositionDeps, cursor: RelayCursor) {
    this.deps = deps;
    this.lane = deps.lease.lane;
    this.cursor = cursor;
    this.trouble = new TroubleReport(deps, `saving the position of ${cursor}`);
  }

  get reached(): bigint {
    return this.reachedSeq;
  }

  get fenced(): boolean {
    return this.refusedEpoch === this.deps.lease.epoch;
  }

  /** Rejects when the database can't be reached. */
  async load(): Promise<void> {
    const seq = await this.deps.log.loadPosition(this.lane, this.cursor);
    this.savedSeq = seq;
    this.advance(seq);
  }

  advance(seq: bigint): void {
    if (seq > this.reachedSeq) this.reachedSeq = seq;
  }

  /**
   * Saves the position, if it is above the saved one. Never rejects: a position that lags only
   * costs repeats. One save at a time.
   */
  save(): Promise<void> {
    return this.saving.run(() => this.saveOnce());
  }

  /**
   * True when the lane's row, asked now, still shows our epoch.
   * Rejects when the database can't be reached.
   */
  async confirm(): Promise<boolean> {
    const epoch = this.deps.lease.epoch;
    const held = await this.deps.log.savePosition(this.lane, epoch, this.cursor, this.reachedSeq);
    this.refusedEpoch = held ? undefined : epoch;
    return held;
  }

  private async saveOnce(): Promise<void> {
    const seq = this.reachedSeq;
    if (seq <= this.savedSeq || this.fenced) return;
    try {
      if (await this.confirm()) this.savedSeq = seq;
      else
        this.deps.logger.warn(
          { cursor: this.cursor, seq: String(seq) },
          'position refused: the lane has another epoch, or the database lacks what was published',
        );
      this.trouble.passed();
    } catch (err) {
      this.trouble.happened(err);
    }
  }
}
