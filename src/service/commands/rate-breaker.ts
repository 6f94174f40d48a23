import type { Clock } from '../../runtime/clock.ts';

export interface BreakerOptions {
  /** This many places and replaces asked for on one account … */
  readonly count: number;
  /** … within this time trip it. */
  readonly windowMs: number;
}

/**
 * One account's count: a ring with slices for the window, so a thousand orders a second cost no
 * more memory than one.
 */
interface Window {
  readonly slices: number[];
  /** The slice that is counted now, as a number since the clock's origin. */
  at: number;
  total: number;
}

const sliceCount = 20;

/**
 * Detects a loop out of control: an account is asked for more than any sane loop asks. Commands the
 * rate budget turns away count, too: the budget only paces, and at its own rate the breaker never
 * trips (a configuration rule). It only reports: the caller raises the halt, and only a person
 * clears it.
 *
 * Invariant: `count` within `windowMs` less one twentieth always trip it; fewer within `windowMs`
 * plus one twentieth never do.
 */
export class RateBreaker {
  private readonly windows = new Map<string, Window>();
  private readonly clock: Clock;
  private readonly options: BreakerOptions;

  constructor(clock: Clock, options: BreakerOptions) {
    this.clock = clock;
    this.options = options;
  }

  /** Counts one. True: it was one too many. */
  count(accountId: string): boolean {
    const window = this.advance(accountId);
    const slice = window.at % sliceCount;
    window.slices[slice] = (window.slices[slice] ?? 0) + 1;
    window.total += 1;
    return window.total >= this.options.count;
  }

  /** Starts the count again, after a person has let the account place again. */
  reset(accountId?: string): void {
    if (accountId === undefined) this.windows.clear();
    else this.windows.delete(accountId);
  }

  private advance(accountId: string): Window {
    const at = Math.floor(this.clock.monotonicMs() / (this.options.windowMs / sliceCount));
    const window = this.windows.get(accountId) ?? this.open(accountId, at);
    for (let behind = Math.min(at - window.at, sliceCount); behind > 0; behind -= 1) {
      const slice = (at - behind + 1) % sliceCount;
      window.total -= window.slices[slice] ?? 0;
      window.slices[slice] = 0;
    }
    window.at = at;
    return window;
  }

  private open(accountId: string, at: number): Window {
    if (this.windows.size >= 1_000) this.forgetIdle(at);
    const window: Window = { slices: new Array<number>(sliceCount).fill(0), at, total: 0 };
    this.windows.set(accountId, window);
    return window;
  }

  private forgetIdle(at: number): void {
    for (const [accountId, window] of this.windows) if (at - window.at >= sliceCount) this.windows.delete(accountId);
  }
}
