import type { Clock } from '../runtime/clock.ts';

/** Turns for work without haste, at most one each `everyMs`, in the order of asking. One who asks for one turn after the other alternates with all others who do. */
export class Pace {
  private nextMs = Number.NEGATIVE_INFINITY;
  private readonly clock: Clock;
  private readonly everyMs: number;

  constructor(deps: { clock: Clock }, options: { everyMs: number }) {
    this.clock = deps.clock;
    this.everyMs = options.everyMs;
  }

  /** Resolves when it is one's turn, or when `signal` aborts. */
  async turn(signal: AbortSignal): Promise<void> {
    const nowMs = this.clock.monotonicMs();
    const turnMs = Math.max(nowMs, this.nextMs);
    this.nextMs = turnMs + this.everyMs;
    if (turnMs > nowMs) await this.clock.sleep(turnMs - nowMs, signal);
  }
}
