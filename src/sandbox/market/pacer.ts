import type { Clock, Timer } from '../../runtime/clock.ts';

interface PacerOptions {
  /** Changes a second; Infinity for as fast as the machine and the readers can. */
  readonly rate: number;
  /**
   * Changes owed for longer are dropped, so that a machine which slept does not wake to a flood.
   */
  readonly catchUpMs: number;
}

/**
 * The longest time for one slice to hold the event loop: sockets are read and written between
 * slices.
 */
const sliceBudgetMs = 10;
const shortestSliceMs = 2;

/**
 * Calls `step` at a rate, in slices of a few milliseconds: timers are no finer, and one timer a
 * change would cost more than the change. Late slices catch up, within a bound.
 *
 * States: stopped → running ⇄ held (readers are behind) → stopped. Invariant: over any time without
 * a hold, steps = rate × time, short by one slice at most.
 */
export class Pacer {
  private rate: number;
  private timer: Timer | undefined;
  private dueSince = 0;
  private owed = 0;
  private burstLeft = 0;
  /** Changes owed and never made, because the machine or a reader was too slow for the rate. */
  dropped = 0;
  private readonly clock: Clock;
  private readonly step: () => boolean;
  private readonly held: (unpaced: boolean) => boolean;
  private readonly catchUpMs: number;

  /**
   * `held` is asked before each round of steps, and learns
   * whether there is no rate but the machine's own.
   */
  constructor(deps: { clock: Clock; step: () => boolean; held: (unpaced: boolean) => boolean }, options: PacerOptions) {
    this.clock = deps.clock;
    this.step = deps.step;
    this.held = deps.held;
    this.rate = options.rate;
    this.catchUpMs = options.catchUpMs;
  }

  start(): void {
    this.dueSince = this.clock.monotonicMs();
    this.owed = 0;
    this.arm();
  }

  stop(): void {
    this.timer?.cancel();
    this.timer = undefined;
    this.burstLeft = 0;
  }

  setRate(rate: number): void {
    this.timer?.cancel();
    this.rate = rate;
    this.start();
  }

  /**
   * `count` changes on top of the rate, as fast as the machine can, whether readers keep up or not.
   */
  burst(count: number): void {
    this.burstLeft += count;
    this.timer?.cancel();
    this.arm();
  }

  private arm(): void {
    const wait =
      this.burstLeft > 0 || this.rate === Number.POSITIVE_INFINITY ? 0 : Math.max(shortestSliceMs, 1000 / this.rate);
    if (wait === Number.POSITIVE_INFINITY) return;
    this.timer = this.clock.after(Math.min(wait, 60_000), () => this.slice());
  }

  private slice(): void {
    const started = this.clock.monotonicMs();
    this.accrue(started);
    while (this.burstLeft > 0 || (this.owed >= 1 && !this.held(this.rate === Number.POSITIVE_INFINITY))) {
      // One look at the clock for 64 steps of about 10 µs.
      for (let i = 0; i < 64 && (this.burstLeft > 0 || this.owed >= 1); i += 1) {
        const moved = this.step();
        if (this.burstLeft > 0) this.burstLeft = moved ? this.burstLeft - 1 : 0;
        else this.owed = moved ? this.owed - 1 : 0;
      }
      if (this.clock.monotonicMs() - started >= sliceBudgetMs) break;
    }
    this.arm();
  }

  private accrue(now: number): void {
    if (this.rate === Number.POSITIVE_INFINITY) {
      this.owed = Number.POSITIVE_INFINITY;
      return;
    }
    const bound = Math.max(1, (this.rate * this.catchUpMs) / 1000);
    this.owed += ((now - this.dueSince) * this.rate) / 1000;
    this.dueSince = now;
    if (this.owed <= bound) return;
    this.dropped += Math.floor(this.owed - bound);
    this.owed = bound;
  }
}
