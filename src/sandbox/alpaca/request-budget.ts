import type { Clock } from '../../runtime/clock.ts';

/** Headers for an answer, and whether the request was within the budget. */
interface Spent {
  readonly isWithin: boolean;
  readonly headers: Readonly<Record<string, string>>;
}

const windowMs = 60_000;

/**
 * So many requests a minute for each account. A minute begins with its first request; the next one
 * has the whole budget again.
 */
export class RequestBudget {
  private readonly windows = new Map<string, { endsMs: number; left: number }>();
  private readonly clock: Clock;
  private readonly perMinute: number;

  constructor(clock: Clock, perMinute: number) {
    this.clock = clock;
    this.perMinute = perMinute;
  }

  spend(accountId: string): Spent {
    const nowMs = this.clock.nowMs();
    const known = this.windows.get(accountId);
    const window =
      known === undefined || known.endsMs <= nowMs ? { endsMs: nowMs + windowMs, left: this.perMinute } : known;
    this.windows.set(accountId, window);
    const isWithin = window.left > 0;
    if (isWithin) window.left -= 1;
    return {
      isWithin,
      headers: {
        'x-ratelimit-limit': String(this.perMinute),
        'x-ratelimit-remaining': String(window.left),
        'x-ratelimit-reset': String(Math.ceil(window.endsMs / 1000)),
      },
    };
  }
}
