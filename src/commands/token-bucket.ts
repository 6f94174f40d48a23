import type { Clock } from '../runtime/clock.ts';

export interface BucketOptions {
  /** Tokens that come back each second. */
  readonly perSecond: number;
  /** The most that it holds. */
  readonly burst: number;
}

const longestDebtSeconds = 60;

/**
 * A token bucket on the monotonic clock: a step of the wall clock gives nothing and takes nothing.
 *
 * Invariant: within any interval of t seconds at most `burst + perSecond · t` tokens are taken, and what `owe` took beyond that is paid back before the next is.
 */
export class TokenBucket {
  private tokens: number;
  private filledAtMs: number;
  private readonly clock: Clock;
  private readonly options: BucketOptions;

  constructor(clock: Clock, options: BucketOptions) {
    this.clock = clock;
    this.options = options;
    this.tokens = options.burst;
    this.filledAtMs = clock.monotonicMs();
  }

  /** Whole tokens there now. */
  get remaining(): number {
    this.fill();
    return Math.floor(this.tokens);
  }

  /** Takes one, unless that would leave fewer than `keep`. */
  take(keep = 0): boolean {
    this.fill();
    if (this.tokens < 1 + keep) return false;
    this.tokens -= 1;
    return true;
  }

  /** Takes one, there or not: what comes next waits for it. No longer than a minute, or one huge read would be followed by nothing. */
  owe(): void {
    this.fill();
    this.tokens = Math.max(this.tokens - 1, -longestDebtSeconds * this.options.perSecond);
  }

  /** What was taken was not needed after all. */
  giveBack(): void {
    this.fill();
    this.tokens = Math.min(this.options.burst, this.tokens + 1);
  }

  /** Milliseconds until `count` tokens are there; 0 when they are. */
  waitMs(count = 1): number {
    this.fill();
    return Math.max(0, Math.ceil(((count - this.tokens) / this.options.perSecond) * 1000));
  }

  private fill(): void {
    const nowMs = this.clock.monotonicMs();
    const { perSecond, burst } = this.options;
    this.tokens = Math.min(burst, this.tokens + ((nowMs - this.filledAtMs) / 1000) * perSecond);
    this.filledAtMs = nowMs;
  }
}
