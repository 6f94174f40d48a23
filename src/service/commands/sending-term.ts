import type { Term } from '../../store/commands/term.ts';
import type { Declined } from './answer.ts';
import type { CommandBook } from './command-book.ts';
import type { CommandSteps } from './command-steps.ts';

/** One term of sending, under which a submission is made. */
export interface SendingTerm {
  readonly term: Term;
  /** The commands it knows, and the way in which they change. */
  readonly book: CommandBook;
  readonly steps: CommandSteps;
  /**
   * Asks the write under way to give up, and no further attempt is begun: the process is ending.
   */
  readonly giveUp: AbortSignal;
  /** Why nothing more may be begun under it, if so: the process drains, or gives the shard away. */
  stopped(): Declined | undefined;
}
