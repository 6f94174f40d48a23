import type { Clock } from './clock.ts';

/**
 * An act that the database has acknowledged, by what a row of it shows from then on. Such a row
 * stays for good, and what is named of it never goes back, so each act is a proof for ever.
 * `lacks_acts` (src/store/sql/losses.sql) looks for them.
 */
export type Act =
  /** A step of a command, by its version and content. */
  | readonly ['step', commandId: string, version: number, updatedAtMs: number]
  /** An attempt was marked as being sent. */
  | readonly ['sent', attemptId: string]
  /** A halt was raised, or cleared. */
  | readonly ['halt' | 'resume', haltId: string]
  | readonly ['cancel_all', cancelAllId: string]
  /** What is written with a line of the audit trail: new limits. */
  | readonly ['line', id: string, atMs: number]
  /** A cancel-after timer was armed, renewed or ended; its row counts these. */
  | readonly ['timer', shard: number, principal: string, accountId: string, changes: number]
  /** A token was given an end, or an earlier one. */
  | readonly ['token_end', principal: string, number: number, endsAtMs: number];

/** The newest commits acknowledged to one process by its database. */
export interface Checkpoint {
  readonly generation: number;
  /** The highest fencing number seen in the lane's row. */
  readonly epoch: bigint;
  /** The lane's highest batch number known to be committed. */
  readonly batch: bigint;
  /** The last acts, oldest first. */
  readonly acts: readonly Act[];
}

/**
 * The same of a named lane, as it is compared with the database. `changes`: of two from one term,
 * the one with more says everything.
 */
export interface LaneCheckpoint extends Checkpoint {
  readonly lane: number;
  readonly changes?: number;
}

/** No more acts than these are acknowledged in another order than they were committed in. */
export const lastActs = 8;
/** While no renewal compares them; a busy process has 300 acts a second. */
const mostActs = 64;

/**
 * The memory that proves a loss. A failover or a restore may bring the database back without
 * commits it had acknowledged, and nothing in the database shows it. Commits are lost from the
 * newest backwards, so the newest batch and the last acts are enough.
 *
 * Invariant: each value was acknowledged, or read, before it is kept here, and only rises. This
 * ends when a row with a higher generation is seen: under that one the loss was noticed, and every
 * value known before is void.
 */
export class CommitCheckpoint {
  private known: Checkpoint | undefined;
  /** While no lane is known: acts are of no lane, and so they are kept for the next one. */
  private left: Pick<Checkpoint, 'generation' | 'acts'> = { generation: 0, acts: [] };
  private changesSoFar = 0;
  private readonly onAct: (act: Act) => void;

  /** `onAct`: called when the database has acknowledged an act. Never waits, never throws. */
  constructor(onAct: (act: Act) => void = () => {}) {
    this.onAct = onAct;
  }

  /** Undefined: this process has not seen the lane's row yet. */
  get newest(): Checkpoint | undefined {
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
    this.left = this.known ?? this.left;
    this.know(undefined);
  }

  /** The lane's row, from any holder. */
  sawLane(row: Pick<Checkpoint, 'generation' | 'epoch' | 'batch'>): void {
    const { known } = this;
    if (known === undefined || row.generation > known.generation) {
      const { generation, acts } = known ?? this.left;
      const { generation: now, epoch, batch } = row;
      this.know({ generation: now, epoch, batch, acts: now > generation ? [] : acts });
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
   * The database has acknowledged an act. What no renewal has compared yet is not pushed out: acts
   * behind a failover would hide those that it lost. Beyond the bound the newest one takes the
   * place of the one before it.
   */
  saw(act: Act): void {
    const { known, left } = this;
    const acts = [...(known ?? left).acts.slice(0, mostActs - 1), act];
    if (known === undefined) this.left = { ...left, acts };
    else this.know({ ...known, acts });
    this.onAct(act);
  }

  /** At a renewal the database had all of these. */
  compared(acts: readonly Act[]): void {
    if (this.known === undefined) return;
    const since = this.known.acts.filter((act) => !acts.includes(act)).length;
    this.known = { ...this.known, acts: this.known.acts.slice(-Math.max(lastActs, since)) };
  }

  private know(newest: Checkpoint | undefined): void {
    this.known = newest;
    this.changesSoFar += 1;
  }
}

/** As JSON, in which 64-bit numbers are text. */
export function encodeCheckpoints(checkpointed: Checkpoint | readonly LaneCheckpoint[]): string {
  return JSON.stringify(checkpointed, (_, value: unknown) => (typeof value === 'bigint' ? value.toString() : value));
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
  readonly checkpoint: CommitCheckpoint;
  private confirmedAtMs = Number.NEGATIVE_INFINITY;
  private currentLane = 0;
  private currentEpoch = 0n;
  private lostEpoch = 0n;
  private readonly clock: Clock;
  private readonly actForMs: number;
  private readonly batchLagMs: number;

  /**
   * `onAct`: see `CommitCheckpoint`. `expireMs`: others may take the lane this long after its row
   * was renewed.
   */
  constructor(clock: Clock, actForMs: number, onAct?: (act: Act) => void, expireMs = actForMs + batchRenewsAfterMs) {
    this.clock = clock;
    this.actForMs = actForMs;
    this.batchLagMs = Math.max(0, batchRenewsAfterMs - (expireMs - actForMs));
    this.checkpoint = new CommitCheckpoint(onAct);
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
    this.checkpoint.forget();
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
