import type { Stream } from '../../domain/order.ts';
import type { PersonsWord } from '../commands/read-audit-trail.ts';
import type { AccountScope, Page } from '../orders/order-reads.ts';

/** Selects rows not dealt with; a field left out is any. */
export interface DeadLetterFilter {
  readonly stream?: Stream;
  readonly accountId?: string;
  /** Why a row is a dead letter: `bad_decimal`, `poison` … */
  readonly reason?: string;
  /** Only these rows: ids of int64 as text. */
  readonly rowIds?: readonly string[];
}

export type DeadLetterAction = 'retry' | 'discard';

/** A row without its text, which may have 64 KiB. */
export interface DeadLetterEntry {
  readonly id: string;
  readonly stream: Stream;
  readonly accountId?: string;
  readonly orderId?: string;
  readonly reason: string;
  readonly detail: string;
  readonly observedAt: Date;
  readonly recordedAt: Date;
  readonly dealtAt?: Date;
}

/** The newest request to read a row's order again, and its answer once there is one. */
export interface DeadLetterRetry {
  readonly requestedAt: Date;
  readonly answeredAt?: Date;
  readonly result?: 'done' | 'failed' | 'withdrawn';
  readonly detail?: string;
}

export interface DeadLetterMessage extends DeadLetterEntry {
  /** The message as it came. */
  readonly raw: string;
  readonly retry?: DeadLetterRetry;
}

/**
 * Rows in a job, existing or only planned. `nameless`: rows without an order to read again, so a
 * retry fails for them; 0 for a discard.
 */
export interface JobSize {
  readonly total: number;
  readonly nameless: number;
}

export interface NewDeadLetterJob extends PersonsWord {
  readonly jobId: string;
  readonly action: DeadLetterAction;
  readonly filter: DeadLetterFilter;
}

export interface DeadLetterJob {
  readonly jobId: string;
  readonly action: DeadLetterAction;
  readonly filter: DeadLetterFilter;
  readonly reason: string;
  readonly by: string;
  readonly askedAt: Date;
  readonly endedAt?: Date;
  readonly cancelledBy?: string;
  readonly total: number;
  readonly done: number;
  readonly failed: number;
  readonly withdrawn: number;
  /** Why rows failed, the most frequent first; at most ten. */
  readonly failures: readonly { readonly detail: string; readonly rows: number }[];
}

/**
 * Retries not ended yet. A person has one or two. Each may have every row in the dead letters,
 * so without a bound they would fill the disk.
 */
export const mostOpenJobs = 10;

/**
 * The dead letters as REST has it, on any instance. The scope is part of every statement: a row
 * without an account is only in the scope of every account. Every act is written with its audit
 * line. Rejects when the database can't be reached; each call may then be made again.
 */
export interface DeadLetterAccess {
  /** Rows not dealt with, oldest first. */
  list(
    scope: AccountScope,
    filter: DeadLetterFilter,
    after: readonly string[] | undefined,
    limit: number,
  ): Promise<Page<DeadLetterEntry>>;
  /**
   * Dealt with or not. Undefined: there is no such row in the scope, or retention has removed it.
   */
  find(scope: AccountScope, id: string): Promise<DeadLetterMessage | undefined>;
  /**
   * Asks the account's follower. Nothing new is asked if a request is open for the row, if the row
   * names no order, or if it was dealt with.
   */
  retry(scope: AccountScope, id: string, word: PersonsWord): Promise<void>;
  /** False: the row was dealt with before. */
  discard(scope: AccountScope, id: string, word: PersonsWord): Promise<boolean>;
  /**
   * The rows a job would have, counted now. A retry leaves rows out whose retry is open already.
   */
  measureJob(scope: AccountScope, action: DeadLetterAction, filter: DeadLetterFilter): Promise<JobSize>;
  /**
   * Carries a discard out, or writes a retry with all its rows, at once. False: a retry, and there
   * are `mostOpenJobs` already.
   */
  openJob(scope: AccountScope, job: NewDeadLetterJob): Promise<boolean>;
  /** Undefined: there is none, or its accounts are outside the scope. */
  findJob(scope: AccountScope, jobId: string): Promise<DeadLetterJob | undefined>;
  /** Newest first. */
  listJobs(scope: AccountScope, limit: number): Promise<readonly DeadLetterJob[]>;
  /** Withdraws its open rows. No effect on an ended job. */
  cancelJob(scope: AccountScope, jobId: string, word: PersonsWord): Promise<void>;
}
