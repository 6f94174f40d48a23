import type { Clock, Timer } from '../../runtime/clock.ts';
import type { ReadBudget } from '../../venue/order-reads.ts';
import { type BucketOptions, TokenBucket } from './rate-budget.ts';

/**
 * The read budget for finding out command results, for all terms in the process, and the line
 * waiting for it.
 *
 * Invariant: no more reads begin, and no more requests are repeated, than the bucket gives tokens,
 * first come, first served. A read's further requests are charged to later tokens. Direct reads
 * leave half the bucket to account reads, and let any waiting one go first.
 */
export class ProbeBudget {
  private readonly waiting = new Set<() => void>();
  private readonly bucket: TokenBucket;
  private timer: Timer | undefined;
  private readonly clock: Clock;

  /** `part`: how much of the budget this process has now, from 0 to 1. */
  constructor(clock: Clock, options: BucketOptions, part?: () => number) {
    this.clock = clock;
    this.bucket = new TokenBucket(clock, options, part);
  }

  /**
   * True once a token is taken for the caller: at once, if there is one.
   * False: `stop` came first, and none was taken.
   */
  turn(stop: AbortSignal): Promise<boolean> {
    if (stop.aborted) return Promise.resolve(false);
    return new Promise((resolve) => {
      const leave = () => {
        this.leave(go);
        resolve(false);
      };
      const go = () => {
        stop.removeEventListener('abort', leave);
        resolve(true);
      };
      stop.addEventListener('abort', leave, { once: true });
      this.waiting.add(go);
      this.pump();
    });
  }

  /** A token for a direct read, if the budget has room for it now. */
  takeDirect(): boolean {
    return this.waiting.size === 0 && this.bucket.take(Math.floor(this.bucket.burst / 2));
  }

  /**
   * The budget for a read whose token was taken, so its first request is paid. A repeat takes a
   * token, if the budget has room for it now. Any other request is owed: the next read waits.
   */
  ofOneRead(): ReadBudget {
    let paid = 1;
    return {
      purpose: 'probe',
      spend: () => {
        if (paid > 0) paid -= 1;
        else this.bucket.owe();
      },
      mayRepeat: () => {
        if (this.waiting.size > 0 || !this.bucket.take()) return false;
        paid += 1;
        return true;
      },
    };
  }

  private leave(go: () => void): void {
    this.waiting.delete(go);
    if (this.waiting.size === 0) this.rest();
  }

  private rest(): void {
    this.timer?.cancel();
    this.timer = undefined;
  }

  private pump(): void {
    for (const go of this.waiting) {
      if (!this.bucket.take()) break;
      this.waiting.delete(go);
      go();
    }
    // Anew at each call: the process may have a larger part of the budget by now.
    this.rest();
    if (this.waiting.size === 0) return;
    this.timer = this.clock.after(Math.max(1, this.bucket.waitMs()), () => {
      this.timer = undefined;
      this.pump();
    });
  }
}
