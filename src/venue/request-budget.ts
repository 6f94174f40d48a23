import type { Clock } from '../runtime/clock.ts';
import type { HttpResult } from './http.ts';
import { retryAfterMsOf } from './platform-error.ts';

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
/** After a 429 that asks for no rest. */
const leastRestMs = 1_000;
/** Cancels rest no longer: a person who wants out must get out. */
const cancelRestMs = 5_000;

/**
 * A venue's requests for one key: so many until it counts anew. Its answers say how many are left,
 * so the user's other programs count too. Our own requests count at once: an answer does not say
 * how many of them are under way.
 *
 * A 429 may come with requests left, or without any number (a limit for bursts). Then the key rests
 * for as long as the venue asks. Behind the rest one request goes each second until one is answered
 * otherwise: all at once would meet the next 429.
 *
 * Invariant: a request begins only if the requests kept for purposes before its own are left, by
 * the newest answer. Before an answer has said a number, each may begin. Within the rest after a
 * 429 none begins.
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
  /** Monotonic: when the last 429 came, and until when it asks for a rest. */
  private refusedMs = Number.NEGATIVE_INFINITY;
  private restEndsMs = Number.NEGATIVE_INFINITY;
  /** Every request has met a 429 since: the next one waits for its turn. */
  private isRefused = false;
  private nextTryMs = Number.NEGATIVE_INFINITY;
  private readonly clock: Clock;
  private readonly onHeld: (purpose: Purpose) => void;

  constructor(clock: Clock, onHeld: (purpose: Purpose) => void = () => undefined) {
    this.clock = clock;
    this.onHeld = onHeld;
  }

  /** Undefined: it may begin now, and is counted until `saw` or `unsent`. */
  take(purpose: Purpose): Held | undefined {
    const nowMs = this.clock.monotonicMs();
    const restMs = this.restMs(purpose, nowMs);
    if (restMs > 0) {
      this.onHeld(purpose);
      const seconds = Math.ceil(restMs / 1000);
      return { waitMs: restMs, message: `not sent: the venue answered 429, and is left alone for ${seconds} s` };
    }
    if (nowMs >= this.endsMs) {
      this.left = Math.max(0, this.limit - this.underWay);
      this.endsMs = nowMs + longestMs;
    }
    // Without a limit none is kept: a part of it, for cancels, would be no number.
    if (this.limit === Number.POSITIVE_INFINITY || this.left >= 1 + Math.floor(this.limit * kept[purpose])) {
      this.left -= 1;
      this.underWay += 1;
      this.nextTryMs = nowMs + leastRestMs;
      return undefined;
    }
    this.onHeld(purpose);
    const waitMs = this.endsMs - nowMs;
    const seconds = Math.ceil(waitMs / 1000);
    const rest = this.left === 0 ? 'none is left' : `the last ${this.left} are kept for more urgent ones`;
    return { waitMs, message: `not sent: of the venue's ${this.limit} requests ${rest} for ${seconds} s` };
  }

  private restMs(purpose: Purpose, nowMs: number): number {
    if (purpose === 'cancel') return Math.min(this.restEndsMs, this.refusedMs + cancelRestMs) - nowMs;
    return Math.max(this.restEndsMs, this.isRefused ? this.nextTryMs : this.restEndsMs) - nowMs;
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
    this.noteRest(result);
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

  private noteRest(result: HttpResult): void {
    const nowMs = this.clock.monotonicMs();
    if (result.kind === 'answered' && result.status === 429) {
      const askedMs = Math.min(longestMs, Math.max(leastRestMs, retryAfterMsOf(result)));
      this.restEndsMs = Math.max(this.restEndsMs, nowMs + askedMs);
      this.refusedMs = nowMs;
      this.isRefused = true;
    } else if (nowMs >= this.restEndsMs) this.isRefused = false;
  }
}

function countOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,10}$/.test(text) ? Number(text) : undefined;
}
