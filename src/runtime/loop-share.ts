import type { Clock } from './clock.ts';

/**
 * One share of the event loop for work that may wait, however many are at it: between two turns of the loop all of it together takes at most `sliceMs` and one
 * step more. What must not wait (a command's next step) then waits for one slice, not for a page of five hundred, nor for twenty of them that came at once.
 */
export class LoopShare {
  private sliceEndsMs = Number.NEGATIVE_INFINITY;
  private nextTurn: Promise<void> | undefined;
  private readonly clock: Pick<Clock, 'monotonicMs' | 'turn'>;
  private readonly sliceMs: number;

  constructor(clock: Pick<Clock, 'monotonicMs' | 'turn'>, options: { readonly sliceMs: number }) {
    this.clock = clock;
    this.sliceMs = options.sliceMs;
  }

  /** `step` for each item, in order. Rejects with what a step throws. */
  async forEach<T>(items: Iterable<T>, step: (item: T) => void): Promise<void> {
    for (const item of items) {
      while (this.clock.monotonicMs() >= this.sliceEndsMs) await this.turn();
      step(item);
    }
  }

  /** Everybody who waits goes on after the same turn, and into the same slice. */
  private turn(): Promise<void> {
    this.nextTurn ??= this.clock.turn().then(() => {
      this.nextTurn = undefined;
      this.sliceEndsMs = this.clock.monotonicMs() + this.sliceMs;
    });
    return this.nextTurn;
  }
}
