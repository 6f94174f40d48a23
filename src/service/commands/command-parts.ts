import type { Ambient } from '../../observability/ambient.ts';
import type { Metrics } from '../../observability/metrics.ts';
import type { Act, Lease } from '../../runtime/lease.ts';
import type { AuditTrailEntry, CommandJournal } from '../../store/commands/command-journal.ts';
import type { Term } from '../../store/commands/term.ts';
import type { FollowedAccounts } from '../sources/account-access.ts';
import type { Declined } from './answer.ts';
import type { CommandBook } from './command-book.ts';
import type { CommandSteps } from './command-steps.ts';
import type { Halts } from './halts.ts';
import type { OrderEntry, Quotes } from './order-entry.ts';
import type { PlacesUnderWay } from './places-under-way.ts';
import type { RateBreaker } from './rate-breaker.ts';
import type { Budgets } from './rate-budget.ts';

/** What the command side of a process is given. */
export interface GivenParts extends Ambient {
  readonly journal: CommandJournal;
  readonly entry: OrderEntry;
  readonly accounts: FollowedAccounts;
  readonly quotes: Quotes;
  readonly lease: Lease;
  readonly metrics: Metrics['commands'];
  /** See `Halts` and `CommandSteps`. */
  readonly noticeLost?: (act: Act) => Promise<void>;
}

/** What it has once, for all its shards. Each class names its own. */
export interface CommandParts extends GivenParts {
  readonly book: CommandBook;
  readonly steps: CommandSteps;
  readonly halts: Halts;
  readonly held: HeldTerms;
  readonly budgets: Budgets;
  readonly breaker: RateBreaker;
  readonly placesUnderWay: PlacesUnderWay;
  /** Puts a line into the audit trail. */
  readonly record: (entry: Omit<AuditTrailEntry, 'atMs'>) => void;
  /** The process ends. */
  readonly stopped: AbortSignal;
}

/** The shards whose commands this process has taken over, each with its term. */
type HeldTerms = ReadonlyMap<number, Term>;

/** One term of sending: a submission is made under it. */
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
