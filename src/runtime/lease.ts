import type { Clock } from './clock.ts';
import { CommitWitness } from './commit-witness.ts';

/**
 * The memory of this process about its hold on the lane. The lane's row in Postgres is the truth; this is the memory of the last
 * time it agreed, judged by the monotonic clock, so that a process that was frozen knows that it was.
 *
 * Invariant: `mayAct` is true only while the last confirmed renewal began less than `actForMs` ago. Everything that leaves the
 * process (Kafka, platform) asks first; writes to Postgres are fenced by the epoch as well.
 */
export class Lease {
  /** The commits that this process has seen; kept over its terms. */
  readonly witness = new CommitWitness();
  private confirmedAtMs = Number.NEGATIVE_INFINITY;
  private currentEpoch = 0n;
  private lostEpoch = 0n;
  private readonly clock: Clock;
  private readonly actForMs: number;

  constructor(clock: Clock, actForMs: number) {
    this.clock = clock;
    this.actForMs = actForMs;
  }

  /** The fencing number under which this process writes; rises with every change of holder and every reclaim. 0n: never held. */
  get epoch(): bigint {
    return this.currentEpoch;
  }

  /** Postgres agreed to a renewal that was *sent* at `sentAtMs` (monotonic): the answer may be old, the sending time is safe. */
  confirm(epoch: bigint, sentAtMs: number): void {
    if (epoch <= this.lostEpoch) return;
    this.currentEpoch = epoch;
    this.confirmedAtMs = Math.max(this.confirmedAtMs, sentAtMs);
  }

  /** Another process took the lane, or we gave it back. A late confirmation of the lost epoch changes nothing. */
  lose(): void {
    this.lostEpoch = this.currentEpoch;
    this.confirmedAtMs = Number.NEGATIVE_INFINITY;
  }

  mayAct(): boolean {
    return this.clock.monotonicMs() - this.confirmedAtMs < this.actForMs;
  }
}
