import type { Clock, Moment, Timer } from './clock.ts';

/**
 * A clock with the database's wall time. What one process writes down by it, another may judge by
 * it, however far the clocks of their machines are off.
 *
 * States: not read (the machine's own wall time) → read, and again at intervals. In between it
 * goes by monotonic time, so a step of the machine's clock does not move it.
 * Invariant: a reading moves it no further than it proves. The answer's time lay somewhere between
 * question and answer, so a slow answer moves nothing that is within these bounds.
 */
export class SharedClock implements Clock {
  private last: Moment | undefined;
  private readonly own: Clock;

  constructor(own: Clock) {
    this.own = own;
  }

  nowMs(): number {
    return Math.floor(this.exactMs());
  }

  /** `ask`: the database's time, in milliseconds since the epoch. Rejects as it does. */
  async read(ask: () => Promise<number>): Promise<number> {
    const beganMs = this.own.monotonicMs();
    const theirsMs = await ask();
    const monotonicMs = this.own.monotonicMs();
    const latestMs = theirsMs + monotonicMs - beganMs;
    this.last = { wallMs: Math.min(latestMs, Math.max(theirsMs, this.exactMs())), monotonicMs };
    return theirsMs;
  }

  private exactMs(): number {
    const { last, own } = this;
    return last === undefined ? own.nowMs() : last.wallMs + own.monotonicMs() - last.monotonicMs;
  }

  monotonicMs(): number {
    return this.own.monotonicMs();
  }

  after(delayMs: number, callback: () => void): Timer {
    return this.own.after(delayMs, callback);
  }

  sleep(delayMs: number, ...signals: AbortSignal[]): Promise<void> {
    return this.own.sleep(delayMs, ...signals);
  }

  turn(): Promise<void> {
    return this.own.turn();
  }
}
