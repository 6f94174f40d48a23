import type { Log } from '../observability/log.ts';
import { Backoff } from '../runtime/backoff.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Random } from '../runtime/random.ts';
import type { CommandJournal } from './command-journal.ts';
import type { CommandOptions } from './command-options.ts';
import type { Strays } from './strays.ts';
import type { Term } from './term.ts';

export interface LandingSweepDeps {
  readonly journal: Pick<CommandJournal, 'landings'>;
  readonly strays: Strays;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** Commands that one query looks at: some 10 ms of the server. */
const pageSize = 2_000;

/**
 * Looks through all places that came to nothing, however long ago, for orders that carry their reference all the same: when the lane is taken, and now and then. Who bound
 * the order may have ended before anybody was told; what is settled long ago is in nobody's memory.
 *
 * Invariant: one look at a time, in pages, each order judged before the next one; a look that failed goes on where it was.
 */
export class LandingSweep {
  private readonly deps: LandingSweepDeps;
  private readonly options: Pick<CommandOptions, 'journalBackoff' | 'landingSweepEveryMs'>;

  constructor(deps: LandingSweepDeps, options: Pick<CommandOptions, 'journalBackoff' | 'landingSweepEveryMs'>) {
    this.deps = deps;
    this.options = options;
  }

  /** Until the term is over. Never rejects. */
  async run(term: Term): Promise<void> {
    const { clock } = this.deps;
    while (!term.over.aborted) {
      await this.look(term);
      await clock.sleep(this.options.landingSweepEveryMs, term.over);
    }
  }

  private async look(term: Term): Promise<void> {
    const { journal, strays, clock, random, log } = this.deps;
    const backoff = new Backoff(random, this.options.journalBackoff);
    let after: string | undefined;
    let failing = false;
    do {
      try {
        const page = await journal.landings(term.fence.lane, after, pageSize);
        for (const { commandId } of page.bound) if (!term.over.aborted) await strays.judge(commandId, term);
        after = page.next;
        failing = false;
        backoff.reset();
      } catch (err) {
        if (!failing) log.warn({ err }, 'places that came to nothing could not be looked through; trying again');
        failing = true;
        await clock.sleep(backoff.nextMs(), term.over);
      }
    } while (!term.over.aborted && (failing || after !== undefined));
  }
}
