import type { Clock } from '../../runtime/clock.ts';

/**
 * At most `atOnce` pieces at a time, in the order they were asked for. Without it, a thousand
 * accounts connecting together would queue their subscriptions, and their lists behind a few HTTP
 * connections, until most deadlines had passed, and begin again.
 */
export class Window {
  private running = 0;
  private readonly waiting: (() => void)[] = [];
  private readonly atOnce: number;

  constructor(atOnce: number) {
    this.atOnce = atOnce;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.running >= this.atOnce) await new Promise<void>((resolve) => this.waiting.push(resolve));
    else this.running += 1;
    try {
      return await work();
    } finally {
      // The place is handed over, not given up, so no other caller can take it in between.
      const next = this.waiting.shift();
      if (next === undefined) this.running -= 1;
      else next();
    }
  }
}

/** A smaller part of the turns is not given: work that waits comes on. */
const leastPart = 0.02;

/**
 * Turns for patient work, at most one each `everyMs`, first come, first served. Callers asking for
 * one turn after the other alternate. `part`: how much it gives now, from 0 to 1.
 */
export class Pace {
  private nextMs = Number.NEGATIVE_INFINITY;
  private readonly clock: Clock;
  private readonly options: { readonly everyMs: number; readonly part?: (() => number) | undefined };

  constructor(deps: { clock: Clock }, options: Pace['options']) {
    this.clock = deps.clock;
    this.options = options;
  }

  /** Resolves when the caller's turn comes, or when `signal` aborts. */
  async turn(signal: AbortSignal): Promise<void> {
    const nowMs = this.clock.monotonicMs();
    const turnMs = Math.max(nowMs, this.nextMs);
    const { everyMs, part = () => 1 } = this.options;
    this.nextMs = turnMs + everyMs / Math.max(leastPart, part());
    if (turnMs > nowMs) await this.clock.sleep(turnMs - nowMs, signal);
  }
}
