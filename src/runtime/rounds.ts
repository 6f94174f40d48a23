import type { Clock } from './clock.ts';
import type { RuntimeLogger, Service } from './supervisor.ts';

interface RoundsDeps {
  readonly clock: Pick<Clock, 'sleep'>;
  readonly round: () => Promise<unknown>;
  /** Left out: it never rejects. */
  readonly log?: Pick<RuntimeLogger, 'info' | 'warn'>;
}

interface RoundsOptions {
  /** Of the service. */
  readonly name: string;
  readonly everyMs: number;
  /** Its work in the words of the log. Left out: its name. */
  readonly doing?: string;
}

/**
 * A piece of work done again and again: a first round at once, then one after each rest. A round
 * that rejects is one line in the log, and so is the first one after it that does not.
 *
 * Invariant: one round at a time, and none begins after `drain`, which waits for the one under way.
 */
export class Rounds implements Service {
  readonly name: string;
  private readonly over = new AbortController();
  private running: Promise<void> = Promise.resolve();
  private readonly deps: RoundsDeps;
  private readonly options: RoundsOptions;

  constructor(deps: RoundsDeps, options: RoundsOptions) {
    this.name = options.name;
    this.deps = deps;
    this.options = options;
  }

  async start(): Promise<void> {
    this.running = this.run();
  }

  async drain(): Promise<void> {
    this.over.abort();
    await this.running;
  }

  private async run(): Promise<void> {
    const { clock, round, log } = this.deps;
    const { everyMs, doing = this.name } = this.options;
    let isFailing = false;
    while (!this.over.signal.aborted) {
      try {
        await round();
        if (isFailing) log?.info({}, `${doing} works again`);
        isFailing = false;
      } catch (err) {
        if (!isFailing) log?.warn({ err }, `${doing} failed; it is tried again`);
        isFailing = true;
      }
      await clock.sleep(everyMs, this.over.signal);
    }
  }
}
