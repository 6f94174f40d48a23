import type { Clock, Timer } from '../../runtime/clock.ts';

/**
 * Writes whose answer has gone out and which are done later.
 *
 * States of a write here: on its way → done. Invariant: each is done exactly once: after its delay, or at once when it heals; none after `stop`.
 */
export class LateWrites {
  private readonly underway = new Map<() => void, Timer>();
  private readonly clock: Clock;

  constructor(deps: { clock: Clock }) {
    this.clock = deps.clock;
  }

  add(delayMs: number, work: () => void): void {
    const arrive = () => {
      if (this.underway.delete(arrive)) work();
    };
    this.underway.set(arrive, this.clock.after(delayMs, arrive));
  }

  arriveAll(): void {
    for (const [arrive, timer] of [...this.underway]) {
      timer.cancel();
      arrive();
    }
  }

  stop(): void {
    for (const timer of this.underway.values()) timer.cancel();
    this.underway.clear();
  }
}
