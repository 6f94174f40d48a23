import type { Clock, Timer } from '../runtime/clock.ts';
import type { CheckResult } from './health.ts';

interface EventLoopWatchOptions {
  readonly sampleEveryMs: number;
  /** A sample that comes later than this counts as late. */
  readonly lateMs: number;
  /** After this many late samples in a row the loop does not recover by itself. */
  readonly lateInARow: number;
}

/**
 * Watches whether the event loop still turns in time, for `/livez`. A restart takes longer than one
 * long pause, so one pause is not a reason for a restart. A loop late again and again is one.
 *
 * Invariant: `lateInARow` counts the samples since the last one in time; one timer is armed from
 * `start` to `stop`.
 */
export class EventLoopWatch {
  private lateSamples = 0;
  private worstLagMs = 0;
  private timer: Timer | undefined;
  private readonly clock: Clock;
  private readonly options: EventLoopWatchOptions;

  constructor(deps: { readonly clock: Clock }, options: EventLoopWatchOptions) {
    this.clock = deps.clock;
    this.options = options;
  }

  start(): void {
    const dueMs = this.clock.monotonicMs() + this.options.sampleEveryMs;
    this.timer = this.clock.after(this.options.sampleEveryMs, () => {
      const lagMs = this.clock.monotonicMs() - dueMs;
      this.worstLagMs = Math.max(this.worstLagMs, lagMs);
      this.lateSamples = lagMs > this.options.lateMs ? this.lateSamples + 1 : 0;
      this.start();
    });
  }

  stop(): void {
    this.timer?.cancel();
    this.timer = undefined;
  }

  /** The last sample was late. */
  get isLate(): boolean {
    return this.lateSamples > 0;
  }

  check(): CheckResult {
    const ok = this.lateSamples < this.options.lateInARow;
    const worst = `worst lag since start ${Math.round(this.worstLagMs)} ms`;
    return {
      ok,
      detail: ok ? `event loop turns, ${worst}` : `event loop late ${this.lateSamples} times in a row, ${worst}`,
    };
  }
}
