import type { Clock } from './clock.ts';

interface RoundsDeps {
  readonly clock: Pick<Clock, 'sleep'>;
  /** Never rejects. */
  readonly round: () => Promise<void>;
}

/**
 * A piece of work done again and again: a first round at once, then one after each rest.
 *
 * Invariant: one round at a time, and none begins after `end`.
 */
export class Rounds {
  private readonly over = new AbortController();
  private running: Promise<void> = Promise.resolve();
  private readonly deps: RoundsDeps;
  private readonly everyMs: number;

  constructor(deps: RoundsDeps, { everyMs }: { readonly everyMs: number }) {
    this.deps = deps;
    this.everyMs = everyMs;
  }

  begin(): void {
    this.running = this.run();
  }

  /** Resolves when the round under way is done. */
  async end(): Promise<void> {
    this.over.abort();
    await this.running;
  }

  private async run(): Promise<void> {
    const { clock, round } = this.deps;
    while (!this.over.signal.aborted) {
      await round();
      await clock.sleep(this.everyMs, this.over.signal);
    }
  }
}
