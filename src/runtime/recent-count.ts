import type { Clock } from './clock.ts';

interface Bucket {
  /** The minute's number, by the monotonic clock. */
  readonly minute: number;
  /** Monotonic time of the minute's first event. */
  readonly firstMs: number;
  events: number;
}

const minuteMs = 60_000;
const hourMinutes = 60;

/** How many events the last hour had. */
export interface RecentEvents {
  readonly events: number;
  /** Wall time of the first one; left out when there is none. */
  readonly firstMs?: number;
}

const none: RecentEvents = Object.freeze({ events: 0 });

/**
 * Counts the last hour's events, by the minute: at most 61 small objects, and none while nothing
 * happens.
 */
export class RecentCount {
  private buckets: Bucket[] = [];
  private readonly clock: Clock;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  add(): void {
    const nowMs = this.clock.monotonicMs();
    const minute = Math.floor(nowMs / minuteMs);
    const last = this.buckets.at(-1);
    if (last?.minute === minute) last.events += 1;
    else this.buckets.push({ minute, firstMs: nowMs, events: 1 });
    this.forget(minute);
  }

  /** An event is forgotten with its whole minute: between 60 and 61 minutes later. */
  lastHour(): RecentEvents {
    // Each account is asked each second, and almost none has any.
    if (this.buckets.length === 0) return none;
    const nowMs = this.clock.monotonicMs();
    this.forget(Math.floor(nowMs / minuteMs));
    const [first] = this.buckets;
    if (first === undefined) return none;
    const events = this.buckets.reduce((sum, bucket) => sum + bucket.events, 0);
    return { events, firstMs: this.clock.nowMs() - (nowMs - first.firstMs) };
  }

  private forget(minute: number): void {
    this.buckets = this.buckets.filter((bucket) => minute - bucket.minute <= hourMinutes);
  }
}
