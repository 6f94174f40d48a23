import type { Clock } from '../runtime/clock.ts';
import type { HttpResult } from './http.ts';

/** What a request is for: where few are left, the earlier word goes first. */
export const purposes = ['cancel', 'probe', 'place', 'resync', 'audit'] as const;
export type Purpose = (typeof purposes)[number];

/** The part of all requests kept for the purposes before it. */
const kept: Readonly<Record<Purpose, number>> = { cancel: 0, probe: 0.1, place: 0.2, resync: 0.3, audit: 0.5 };

interface Held {
  /** Until the venue counts anew. */
  readonly waitMs: number;
  /** For people. */
  readonly message: string;
}

/** A longer time counts as this: a wrong clock must not stop a service. */
const longestMs = 60_000;

/**
 * A venue's requests for one key: so many until it counts anew. Its answers say how many are left,
 * so the user's other programs count too. Our own requests count at once: an answer does not say
 * how many of them are under way.
 *
 * Invariant: a request begins only if the requests kept for purposes before its own are left, by
 * the newest answer. Before an answer has said a number, each may begin.
 */
export class RequestBudget {
  /** How many it takes until it counts anew. */
  limit = Number.POSITIVE_INFINITY;
  /** Monotonic: when the venue counts anew. */
  private endsMs = 0;
  private left = Number.POSITIVE_INFINITY;
  /** Begun, and not yet over. */
  private underWay = 0;
  /** The newest answer's: while it is the same, answers may overtake each other. */
  private resetSeconds = 0;
  private readonly clock: Clock;
  private readonly onHeld: (purpose: Purpose) => void;

  constructor(clock: Clock, onHeld: (purpose: Purpose) => void = () => undefined) {
    this.clock = clock;
    this.onHeld = onHeld;
  }

  /** Undefined: it may begin now, and is counted until `saw` or `unsent`. */
  take(purpose: Purpose): Held | undefined {
    const nowMs = this.clock.monotonicMs();
    if (nowMs >= this.endsMs) {
      this.left = Math.max(0, this.limit - this.underWay);
      this.endsMs = nowMs + longestMs;
    }
    // Without a limit none is kept: a part of it, for cancels, would be no number.
    if (this.limit === Number.POSITIVE_INFINITY || this.left >= 1 + Math.floor(this.limit * kept[purpose])) {
      this.left -= 1;
      this.underWay += 1;
      return undefined;
    }
    this.onHeld(purpose);
    const waitMs = this.endsMs - nowMs;
    const seconds = Math.ceil(waitMs / 1000);
    const rest = this.left === 0 ? 'none is left' : `the last ${this.left} are kept for more urgent ones`;
    return { waitMs, message: `not sent: of the venue's ${this.limit} requests ${rest} for ${seconds} s` };
  }

  /** It was taken, and not sent. */
  unsent(): void {
    this.left += 1;
    this.underWay -= 1;
  }

  /**
   * A request is over. An answer says how many are left: `X-RateLimit-Limit`, `-Remaining`, and
   * `-Reset` in seconds since 1970 by the venue's clock.
   */
  saw(result: HttpResult): void {
    this.underWay = Math.max(0, this.underWay - 1);
    if (result.kind !== 'answered') return;
    const { date = '', ...headers } = result.headers;
    const [limit, left, resetSeconds] = ['limit', 'remaining', 'reset'].map((name) =>
      countOf(headers[`x-ratelimit-${name}`]),
    );
    if (limit === undefined || left === undefined || resetSeconds === undefined || limit === 0) return;
    const theirsMs = Date.parse(date) || this.clock.nowMs();
    const endsInMs = Math.min(longestMs, Math.max(0, resetSeconds * 1000 - theirsMs));
    this.endsMs = this.clock.monotonicMs() + endsInMs;
    this.limit = limit;
    this.left = resetSeconds === this.resetSeconds ? Math.min(this.left, left) : Math.max(0, left - this.underWay);
    this.resetSeconds = resetSeconds;
  }
}

function countOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,10}$/.test(text) ? Number(text) : undefined;
}
