import type { Clock, Timer } from '../../runtime/clock.ts';

/** The timers of one owner, all disarmed with it. */
export class TimerSet {
  private readonly timers = new Set<Timer>();
  private stopped = false;
  private readonly clock: Clock;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** Runs `work` once, unless it is stopped or `signal` aborts before. */
  later(delayMs: number, work: () => void, signal?: AbortSignal): void {
    const finish = () => {
      this.timers.delete(timer);
      signal?.removeEventListener('abort', cancel);
    };
    const timer = this.clock.after(delayMs, () => {
      finish();
      if (!signal?.aborted) work();
    });
    const cancel = () => {
      finish();
      timer.cancel();
    };
    this.timers.add(timer);
    signal?.addEventListener('abort', cancel, { once: true });
  }

  /**
   * Runs `work` again and again until stopped or aborted, each time `nextMs()` after the run before
   * ended: runs never overlap.
   */
  repeat(nextMs: () => number, work: () => Promise<void>, signal?: AbortSignal): void {
    this.later(nextMs(), () => void work().then(() => this.again(nextMs, work, signal)), signal);
  }

  stop(): void {
    this.stopped = true;
    for (const timer of this.timers) timer.cancel();
    this.timers.clear();
  }

  private again(nextMs: () => number, work: () => Promise<void>, signal?: AbortSignal): void {
    if (!this.stopped && !signal?.aborted) this.repeat(nextMs, work, signal);
  }
}
