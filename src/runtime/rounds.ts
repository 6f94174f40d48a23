import type { Clock } from './clock.ts';
import type { Service } from './supervisor.ts';

interface RoundsDeps {
  readonly clock: Pick<Clock, 'sleep'>;
  /** Never rejects. */
  readonly round: () => Promise<void>;
}

interface RoundsOptions {
  /** Of the service. */
  readonly name: string;
  readonly everyMs: number;
}

/**
 * A piece of work done again and again: a first round at once, then one after each rest.
 *
 * Invariant: one round at a time, and none begins after `drain`, which waits for the one under way.
 */
export class Rounds implements Service {
  readonly name: string;
  private readonly over = new AbortController();
  private running: Promise<void> = Promise.resolve();
  private readonly deps: RoundsDeps;
  private readonly everyMs: number;

  constructor(deps: RoundsDeps, { name, everyMs }: RoundsOptions) {
    this.name = name;
    this.deps = deps;
    this.everyMs = everyMs;
  }

  async start(): Promise<void> {
    this.running = this.run();
  }

  async drain(): Promise<void> {
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
