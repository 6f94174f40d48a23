import type { Term } from '../../store/commands/term.ts';
import type { Declined } from './answer.ts';

/** The shards whose commands this process has taken over, each with its term. */
export type HeldTerms = ReadonlyMap<number, Term>;

/** One term of sending, under which a submission is made. */
export interface SendingTerm {
  readonly term: Term;
  /**
   * Asks the write under way to give up, and no further attempt is begun: the process is ending.
   */
  readonly giveUp: AbortSignal;
  /** Why nothing more may be begun under it, if so: the process drains, or gives the shard away. */
  stopped(): Declined | undefined;
  /** Aborts as it stops. */
  readonly stopping: AbortSignal;
}
