import type { Unreadable, Watermark } from '../../../src/domain/observation.ts';
import type { Clock } from '../../../src/runtime/clock.ts';

interface Loss {
  readonly stream: string;
  /** Undefined: the frame did not say. */
  readonly accountId: string | undefined;
  readonly orderId: string | undefined;
  readonly atMs: number;
  readonly monotonicMs: number;
  /** Accounts that were read since: of a frame without an account, each for itself. */
  readonly readBy: Set<string>;
}

/** Messages that can be read far enough to see that they bring no order. */
const ofOthers: readonly string[] = ['unknown_message', 'unknown_event'];

/**
 * Frames that one process could not read, held against what it then calls complete
 * (docs/guarantees.md 30): no mark passes one before its order was asked for, or its account was
 * read to the end, by requests that began after it. Both are wall times, so nothing is held against
 * a process whose wall clock was set: an hour of its day may have come twice (seed 2437).
 */
export class LossWatch {
  readonly breaches: string[] = [];
  private losses: Loss[] = [];
  private clockWasSet = false;
  /** Wall time less monotonic time, milliseconds. */
  private readonly clockSetAt: number;
  private readonly clock: Clock;

  constructor(clock: Clock) {
    this.clock = clock;
    this.clockSetAt = clock.nowMs() - clock.monotonicMs();
  }

  /**
   * To be called with everything that the process does: a clock that is set
   * and set back shows only between the two.
   */
  lookAtClock(): void {
    const { clock } = this;
    if (Math.abs(clock.nowMs() - clock.monotonicMs() - this.clockSetAt) > 1) this.clockWasSet = true;
  }

  unreadable({ cause, stream, accountId, orderId, reason }: Unreadable): void {
    if (cause !== 'stream' || ofOthers.includes(reason)) return;
    const { clock } = this;
    const times = { atMs: clock.nowMs(), monotonicMs: clock.monotonicMs() };
    this.losses.push({ stream, accountId, orderId, ...times, readBy: new Set() });
  }

  /**
   * The platform answered with this order, or with the whole list of its
   * account, to a request that began at `beganMs`.
   */
  answered(stream: string, accountId: string, beganMs: number, orderId?: string): void {
    for (const loss of this.losses)
      if (loss.stream === stream && loss.monotonicMs <= beganMs && (orderId === undefined || loss.orderId === orderId))
        loss.readBy.add(accountId);
    this.losses = this.losses.filter((loss) => loss.accountId === undefined || !loss.readBy.has(loss.accountId));
  }

  mark(mark: Watermark): void {
    if (mark.event === 'lost' || this.clockWasSet) return;
    for (const accountId of mark.accountIds) this.complete(mark, accountId);
  }

  private complete({ event, stream, atMs }: Watermark, accountId: string): void {
    for (const loss of this.losses) {
      const concerns =
        loss.stream === stream && (loss.accountId ?? accountId) === accountId && !loss.readBy.has(accountId);
      if (concerns && atMs >= loss.atMs)
        this.breaches.push(
          `${stream}:${accountId} is called complete over a frame that was not recovered (${event}, ${loss.orderId})`,
        );
    }
  }

  /** The term ended: what comes next is read whole. */
  forget(): void {
    this.losses = [];
  }
}
