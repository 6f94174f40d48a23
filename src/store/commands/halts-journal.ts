import type { Bounds, BoundsChange, LimitRow, LimitScope } from '../../domain/limits.ts';
import type { PersonsWord } from './read-audit-trail.ts';
import type { Fence } from './term.ts';

/** New bounds for one scope of limits. Without any, the row is deleted. */
interface LimitsChange extends LimitScope, PersonsWord {
  /** The change was decided on these bounds. */
  readonly before: Bounds;
  readonly bounds: Bounds;
  /** Where a second principal is needed. */
  readonly approval?: Approving;
  readonly atMs: number;
}

/** An armed dead man's switch: the account's orders are cancelled when it runs out. */
export interface CancelTimer {
  /** A new one with each renewal. */
  readonly timerId: string;
  readonly shard: number;
  readonly principal: string;
  readonly accountId: string;
  /** 0: it has run out. */
  readonly leftMs: number;
}

export interface CancelTimersChange {
  readonly principal: string;
  /** 0: ends them. */
  readonly afterMs: number;
  readonly timers: readonly { readonly accountId: string; readonly timerId: string }[];
}

export interface Halt {
  readonly haltId: string;
  /** The whole service, or one account. */
  readonly scope: { readonly kind: 'service' } | { readonly kind: 'account'; readonly accountId: string };
  /**
   * `unresolved`, `unreadable`, `late_landing`, `rate`, `operator`, `account_operator`,
   * `commits_lost`.
   */
  readonly cause: string;
  /** For people. */
  readonly reason: string;
  readonly by: string;
  readonly sinceMs: number;
  readonly clearedAtMs?: number;
  readonly clearedBy?: string;
  readonly clearedReason?: string;
}

export type PersonsResult = 'applied' | 'rejected' | 'not_sent' | 'moot';

/** Acts that may need a second principal. */
export type OperatorAction =
  /** `ofSomeAccounts`: the asking token names only some accounts. */
  | { readonly kind: 'resume'; readonly scope: Halt['scope']; readonly ofSomeAccounts?: true }
  | { readonly kind: 'resolve'; readonly commandId: string; readonly result: PersonsResult }
  | { readonly kind: 'change_limits'; readonly scope: LimitScope; readonly change: BoundsChange };

/**
 * Waiting requests a principal may have at a time. A principal that asks without end takes no room
 * from the others.
 */
export const mostWaiting = 50;

/** An act that waits for a second principal. */
export interface Approval {
  readonly approvalId: string;
  readonly action: OperatorAction;
  /** Absent: it concerns every account. */
  readonly accountId?: string;
  /** The principal that asked for it. */
  readonly by: string;
  readonly reason: string;
  readonly requestId: string;
  /** By the journal's own clock, as the next. */
  readonly atMs: number;
  readonly expiresAtMs: number;
}

/** One that is asked for now. It ends after `lastsMs`. */
export type NewApproval = Omit<Approval, 'atMs' | 'expiresAtMs'> & { readonly lastsMs: number };

/**
 * A second principal's word. The transaction that does the act spends the approval; where nothing
 * was done, the request waits as before.
 */
export interface Approving extends PersonsWord {
  readonly approvalId: string;
}

export interface ClearingWord {
  readonly by: string;
  readonly reason: string;
  readonly atMs: number;
  readonly ofSomeAccounts?: true;
  readonly approval?: Approving;
}

/** The part of the journal that keeps timers, halts, limits, and acts that wait for approval. */
export interface HaltsJournal {
  /**
   * Arms, renews or ends a principal's timers on these accounts, and no other timers. Returns when
   * they run out, by the journal's own clock; undefined: fenced.
   */
  setCancelTimers(change: CancelTimersChange, fence: Fence): Promise<number | undefined>;
  /** The timers of these shards neither disarmed nor fired, the next one first. */
  armedCancelTimers(shards: readonly number[]): Promise<CancelTimer[]>;
  /** The timer has fired. Changes nothing if it was renewed since. False: fenced. */
  endCancelTimer(timerId: string, fence: Fence): Promise<boolean>;
  /**
   * The active halts, oldest first. Also the cleared ones among those the caller knows. A halt's
   * row is never deleted.
   */
  activeHalts(knownIds?: readonly string[]): Promise<Halt[]>;
  /**
   * Adds the halt, unless an active one has the same scope and cause; then that one is returned. A
   * halt already there is returned as it is, even a cleared one: the process that puts a halt back
   * does not know about the clearing. Under no fence: it only forbids. A halt that is new, or that
   * an operator raises again, ends the waiting requests to resume its scope.
   */
  raiseHalt(halt: Halt): Promise<Halt>;
  /**
   * Clears all active halts in the scope. Returns how many. `kept`: none was cleared. One is an
   * operator's halt for every account, and the word is `ofSomeAccounts`. `not_waiting`: none was
   * cleared, since the word's approval does not wait, or is of the principal that asked for it.
   */
  clearHalts(
    scope: Halt['scope'],
    word: ClearingWord,
    fence: Fence,
  ): Promise<number | 'kept' | 'fenced' | 'not_waiting'>;
  /** Every row of limits, by its scope. */
  limits(): Promise<LimitRow[]>;
  /**
   * Sets a scope's bounds, with its audit line, in one transaction. It needs no fence, as `open`
   * reads the bounds each time. False: the bounds no longer equal `before`. `not_waiting`: see
   * `clearHalts`.
   */
  changeLimits(change: LimitsChange): Promise<boolean | 'not_waiting'>;
  /**
   * Writes the request down, with its audit line, in one transaction, under no fence. If the same
   * principal already waits for the same act, that request is the answer, and nothing is written.
   * Undefined: the principal already has `mostWaiting` waiting requests.
   */
  requestApproval(approval: NewApproval): Promise<Approval | undefined>;
  /**
   * Requests neither approved nor expired by the journal's own clock, oldest first, at most 1,000.
   * `accounts`: only those for these accounts; left out: for every account.
   */
  approvals(accounts?: readonly string[]): Promise<Approval[]>;
  /** The request with this id, however many wait; undefined: it does not wait. */
  findApproval(approvalId: string): Promise<Approval | undefined>;
}
