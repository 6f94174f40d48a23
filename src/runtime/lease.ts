import type { Clock } from './clock.ts';

/**
 * The last commits by which something was forbidden, or allowed again, one for each kind. Each
 * one's row stays for good, or has a number that only rises, so each is a proof. One may be lost
 * alone: a halt is neither a step of a command nor of a batch.
 */
export interface WitnessedStops {
  /** The halts the journal took and cleared. */
  readonly haltId?: string;
  readonly clearedHaltId?: string;
  /** The audit line written with new limits. */
  readonly limitsChange?: { readonly auditId: string; readonly atMs: number };
  readonly cancelAllId?: string;
  /** A cancel-after timer was armed, renewed or ended; its row counts these. */
  readonly cancelTimer?: {
    readonly shard: number;
    readonly principal: string;
    readonly accountId: string;
    readonly changes: number;
  };
  /** A token was given an end, or an earlier one. */
  readonly endedToken?: { readonly principal: string; readonly number: number; readonly endsAtMs: number };
}

/**
 * The newest commits acknowledged to one process by its database. Its JSON goes to `lacks_commits`
 * (src/store/sql/losses.sql).
 */
export interface Witnessed extends WitnessedStops {
  readonly generation: number;
  /** The highest fencing number seen in the lane's row. */
  readonly epoch: bigint;
  /** The lane's highest batch number known to be committed. */
  readonly batch: bigint;
  /** The last step of a command the journal acknowledged. */
  readonly command?: { readonly commandId: string; readonly version: number };
  /** The last attempt the journal marked as being sent. */
  readonly sentAttemptId?: string;
}

/**
 * The memory that proves a loss. A failover or a restore may bring the database back without
 * commits it had acknowledged, and nothing in the database shows it. Commits are lost from the
 * newest backwards, so the newest one of each kind is enough.
 *
 * Invariant: each value was acknowledged, or read, before it is kept here, and only rises. This
 * ends when a row with a higher generation is seen: under that one the loss was noticed, and every
 * value known before is void.
 */
export class CommitWitness {
  private known: Witnessed | undefined;
  private changesSoFar = 0;
  private readonly onCommand: () => void;

  /** `onCommand`: called when the journal has acknowledged something. Never waits, never throws. */
  constructor(onCommand = () => {}) {
    this.onCommand = onCommand;
  }

  /** Undefined: this process has not seen the lane's row yet. */
  get newest(): Witnessed | undefined {
    return this.known;
  }

  /**
   * Rises with every change to `newest`. The value with the higher count says everything the other
   * says.
   */
  get changes(): number {
    return this.changesSoFar;
  }

  /** Another lane from now on: its numbers say nothing about the last one's. */
  forget(): void {
    this.know(undefined);
  }

  /** The lane's row, from any holder. */
  sawLane(row: Pick<Witnessed, 'generation' | 'epoch' | 'batch'>): void {
    const { known } = this;
    if (known === undefined || row.generation > known.generation) {
      this.know({ generation: row.generation, epoch: row.epoch, batch: row.batch });
    } else if (row.generation === known.generation) {
      this.sawEpoch(row.epoch);
      this.sawBatch(row.batch);
    }
  }

  /** The lane's row was given this epoch. */
  sawEpoch(epoch: bigint): void {
    if (this.known !== undefined && epoch > this.known.epoch) this.know({ ...this.known, epoch });
  }

  /** A batch committed: acknowledged to us, or its rows were read. */
  sawBatch(batch: bigint): void {
    if (this.known !== undefined && batch > this.known.batch) this.know({ ...this.known, batch });
  }

  /**
   * A step of a command committed. Steps acknowledged at the same time may have committed in the
   * other order: one is proof enough.
   */
  sawCommand(commandId: string, version: number): void {
    if (this.known !== undefined) this.know({ ...this.known, command: { commandId, version } });
    this.onCommand();
  }

  /** An attempt was marked as being sent. */
  sawSending(attemptId: string): void {
    if (this.known !== undefined) this.know({ ...this.known, sentAttemptId: attemptId });
    this.onCommand();
  }

  /** Something was forbidden, or allowed again. */
  sawStop(stop: WitnessedStops): void {
    if (this.known !== undefined) this.know({ ...this.known, ...stop });
    this.onCommand();
  }

  private know(newest: Witnessed | undefined): void {
    this.known = newest;
    this.changesSoFar += 1;
  }
}

/** As JSON: 64-bit numbers are text. */
export function encodeWitnessed(witnessed: Witnessed): string {
  return JSON.stringify(witnessed, (_, value: unknown) => (typeof value === 'bigint' ? value.toString() : value));
}

/** A batch leaves a row alone that was renewed within this time (`enter_lane`). */
const batchRenewsAfterMs = 3_000;

/**
 * This process's memory about its hold on its lane. The lane's row in Postgres is the truth. This
 * is the memory of the last time it agreed, measured by the monotonic clock. So a process that was
 * frozen knows that it was.
 *
 * Invariant: `mayAct` is true only while the last confirmed renewal began less than `actForMs` ago.
 * Everything that leaves the process (Kafka, platform) asks first; the epoch also fences writes to
 * Postgres.
 */
export class Lease {
  /** The commits this process has seen; kept over its terms. */
  readonly witness: CommitWitness;
  private confirmedAtMs = Number.NEGATIVE_INFINITY;
  private currentLane = 0;
  private currentEpoch = 0n;
  private lostEpoch = 0n;
  private readonly clock: Clock;
  private readonly actForMs: number;
  private readonly batchLagMs: number;

  /**
   * `onCommand`: see `CommitWitness`. `expireMs`: others may take the lane this long after its row
   * was renewed.
   */
  constructor(clock: Clock, actForMs: number, onCommand?: () => void, expireMs = actForMs + batchRenewsAfterMs) {
    this.clock = clock;
    this.actForMs = actForMs;
    this.batchLagMs = Math.max(0, batchRenewsAfterMs - (expireMs - actForMs));
    this.witness = new CommitWitness(onCommand);
  }

  /** The lane this process holds, or asks for. It changes only while the lease is lost. */
  get lane(): number {
    return this.currentLane;
  }

  /** Asks for this lane from now on. */
  enter(lane: number): void {
    if (lane === this.currentLane) return;
    this.lose();
    this.currentLane = lane;
    this.currentEpoch = 0n;
    this.lostEpoch = 0n;
    this.witness.forget();
  }

  /**
   * This process writes under this fencing number. It rises with every change of holder and every
   * reclaim. 0n: never held.
   */
  get epoch(): bigint {
    return this.currentEpoch;
  }

  /**
   * A term begins by a taking sent at `sentAtMs` (monotonic). Its epoch may be below the last
   * term's: a database that came back without its newest commits counts on from there.
   */
  take(epoch: bigint, sentAtMs: number): void {
    this.lostEpoch = epoch - 1n;
    this.currentEpoch = epoch;
    this.confirmedAtMs = sentAtMs;
  }

  /**
   * Postgres agreed to a renewal *sent* at `sentAtMs` (monotonic): the answer may be old, the
   * sending time is safe.
   */
  confirm(epoch: bigint, sentAtMs: number): void {
    if (epoch <= this.lostEpoch) return;
    this.currentEpoch = epoch;
    this.confirmedAtMs = Math.max(this.confirmedAtMs, sentAtMs);
  }

  /**
   * Postgres committed a batch sent at `sentAtMs`. It renews the row only once that is old, so the
   * row may expire sooner than after a renewal.
   */
  confirmByBatch(sentAtMs: number): void {
    this.confirm(this.currentEpoch, sentAtMs - this.batchLagMs);
  }

  /**
   * Another process took the lane, or we gave it back. A late confirmation of the lost epoch
   * changes nothing.
   */
  lose(): void {
    this.lostEpoch = this.currentEpoch;
    this.confirmedAtMs = Number.NEGATIVE_INFINITY;
  }

  mayAct(): boolean {
    return this.clock.monotonicMs() - this.confirmedAtMs < this.actForMs;
  }
}
