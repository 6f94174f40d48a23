import type { AttemptState, Baseline, Command, CommandState, Evidence, Reason } from '../../domain/command.ts';
import type { Bounds, BoundsChange, LimitBreach, LimitRow, LimitScope } from '../../domain/limits.ts';
import type { Stream } from '../../domain/order.ts';
import type { OrderSelection, Selectable } from '../../domain/select-orders.ts';
import type { BoundOrder, SettlingUpdate } from '../../domain/settling.ts';
import type { JournalPreview, JudgedCommand } from './journal-preview.ts';

export type { BoundOrder, SettlingUpdate };

/**
 * The term of the shard under which a write is made. Every write of the journal carries one, except
 * `addEvidence`, `changeLimits`, approvals and `audit`. It is refused once a later holder has
 * called `takeOver`. Commands have a fence of their own, so that slow journal transactions never
 * wait for the lane's row, nor the other way round.
 */
export interface Fence {
  readonly shard: number;
  readonly epoch: bigint;
}

export interface NewCommand extends JudgedCommand {
  readonly commandId: string;
  readonly idempotencyKey: string;
  readonly requestHash: string;
  readonly orderId?: string;
  readonly baseline?: Baseline;
  readonly deadlineAtMs: number;
  /**
   * Attempt 1, PREPARED. Absent where we refuse the command ourselves: then there is a `refusal`,
   * and the command is journaled as `refused`.
   */
  readonly attemptId?: string;
  readonly refusal?: Reason;
  /**
   * Of the token of the database that it was asked for with: once that has
   * ended, nothing but a cancel is sent for it.
   */
  readonly tokenNumber?: number;
}

export type OpenResult =
  | { readonly kind: 'opened'; readonly command: Command }
  /**
   * The same principal used the same key with the same request: the
   * command as it is now. Nothing was written.
   */
  | { readonly kind: 'replayed'; readonly command: Command }
  /** The same key with another request. Nothing was written. */
  | { readonly kind: 'key_reused' }
  /**
   * `callerRefOnce`, and another command of the principal has the reference. Nothing was written.
   */
  | { readonly kind: 'caller_ref_reused' }
  /**
   * `supersedes` names a command that is not presumed absent any more, or has a successor that is
   * neither `not_sent` nor `refused`. Nothing was written.
   */
  | { readonly kind: 'not_superseded' }
  /** A place or replace that breaks a limit. Nothing was written. */
  | { readonly kind: 'limited'; readonly breach: LimitBreach }
  | { readonly kind: 'fenced' };

export type NewEvidence = Omit<Evidence, 'number'>;

/**
 * One step of one command, in one transaction: its row by compare-and-set on `version`, an
 * attempt's row, evidence, and an event for the outcomes topic.
 */
export interface CommandStep {
  readonly commandId: string;
  /** The version that the step was decided on. */
  readonly version: number;
  readonly to: CommandState;
  readonly atMs: number;
  readonly reason?: Reason;
  readonly orderId?: string;
  /** Left out: it stays as it was. */
  readonly presumedAbsent?: boolean;
  readonly seenPendingAt?: Command['seenPendingAt'];
  readonly misses?: number;
  readonly attempt?: {
    readonly attemptId: string;
    readonly from: AttemptState;
    readonly to: AttemptState;
    readonly reason?: Reason;
  };
  /**
   * A further attempt, PREPARED, after `attempt` became `not_sent` (or `refused` for an old token).
   */
  readonly nextAttemptId?: string;
  readonly evidence: readonly NewEvidence[];
}

export type StepResult =
  | { readonly kind: 'stepped'; readonly command: Command }
  /** Another writer stepped first. The command as it is now: decide again. */
  | { readonly kind: 'stale'; readonly command: Command }
  | { readonly kind: 'fenced' };

/** A complete read that did not show an unknown command. */
export interface Miss {
  readonly commandId: string;
  /** The version that the read was judged by. */
  readonly version: number;
  readonly evidence: NewEvidence;
}

export type MissResult =
  | { readonly kind: 'noted'; readonly command: Command }
  /** It is at another version, or not unknown any more: nothing was written. */
  | { readonly kind: 'stale'; readonly command: Command }
  | { readonly kind: 'fenced' };

export interface Landings {
  readonly bound: readonly BoundOrder[];
  readonly next?: string;
}

export interface RivalCancel {
  readonly commandId: string;
  readonly rivalId: string;
}

export interface OpenOrder {
  readonly stream: Stream;
  readonly orderId: string;
}

export interface OrderOfAccount extends OpenOrder {
  readonly accountId: string;
}

/** The orders that a cancel-all covers. */
export interface CancelAllSelection extends OrderSelection {
  /** Absent: every account of the shard. */
  readonly accountId?: string;
}

/** A place whose order was not seen yet. */
export interface PlaceOfAccount {
  readonly accountId: string;
  readonly stream: Stream;
  readonly commandId: string;
}

/** An account on one stream that may have open orders that are not known. */
export interface UnreadAccount {
  readonly accountId: string;
  readonly stream: Stream;
  readonly code: 'NOT_LIVE' | 'NOT_READ' | 'UNCERTAIN';
  readonly message: string;
}

/** What happens to the order of a listed place if it lands while the cancel-all is in force. */
export type OnLanding = 'cancel' | 'leave';

/**
 * The orders and places that a cancel-all has to cancel. Written before the first cancel, and never
 * changed. It is in force from then on, over restarts and takeovers, until its orders have their
 * cancels and its places are settled.
 */
export interface NewCancelAll {
  readonly cancelAllId: string;
  readonly principal: string;
  readonly idempotencyKey: string;
  readonly requestHash: string;
  readonly selection: CancelAllSelection;
  readonly reason: string;
  readonly onLanding: OnLanding;
  readonly orders: readonly OrderOfAccount[];
  readonly places: readonly PlaceOfAccount[];
  readonly unread: readonly UnreadAccount[];
  /** Accounts in which nothing was to be cancelled, and why. */
  readonly declined: readonly { readonly accountId: string; readonly code: string; readonly message: string }[];
  readonly atMs: number;
}

export type OpenCancelAllResult =
  /**
   * `replayed`: the cancel-all that already has the key, with its own list. Nothing was written.
   */
  | { readonly kind: 'opened' | 'replayed'; readonly cancelAll: NewCancelAll }
  /** The same key with another scope or reason. Nothing was written. */
  | { readonly kind: 'key_reused' }
  | { readonly kind: 'fenced' };

/**
 * The key of the cancel of the order at this index of the list, or
 * of the order that this command has placed.
 */
export function keyOfCancel({ cancelAllId }: NewCancelAll, of: number | string): string {
  return `cancel-all:${cancelAllId}:${of}`;
}

/** New bounds of one scope of limits. Without any, the row is deleted. */
export interface LimitsChange extends LimitScope {
  /** The bounds that the change was decided on. */
  readonly before: Bounds;
  readonly bounds: Bounds;
  readonly by: string;
  /** The second principal, where one is needed. */
  readonly approvedBy?: string;
  readonly reason: string;
  readonly requestId: string;
  readonly atMs: number;
}

/** A dead man's switch that is armed: the orders of the account are cancelled when it runs out. */
export interface CancelTimer {
  /** A new one with each renewal. */
  readonly timerId: string;
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
  /** `unresolved`, `late_landing`, `rate`, `operator`, `account_operator`, `commits_lost`. */
  readonly cause: string;
  /** For people. */
  readonly reason: string;
  readonly by: string;
  readonly sinceMs: number;
  readonly clearedAtMs?: number;
  readonly clearedBy?: string;
  readonly clearedReason?: string;
}

/** The acts that may need a second principal. */
export type Deed =
  /** `ofSomeAccounts`: the token that asked for it names only some accounts. */
  | { readonly kind: 'resume'; readonly scope: Halt['scope']; readonly ofSomeAccounts?: true }
  | {
      readonly kind: 'settle';
      readonly commandId: string;
      readonly outcome: 'applied' | 'rejected' | 'not_sent' | 'moot';
    }
  | { readonly kind: 'change_limits'; readonly scope: LimitScope; readonly change: BoundsChange };

/**
 * Requests of one principal that may wait at a time: one that asks
 * without end takes no room from the others.
 */
export const mostWaiting = 50;

/** An act that waits for a second principal. */
export interface Approval {
  readonly approvalId: string;
  readonly deed: Deed;
  /** Absent: it concerns every account. */
  readonly accountId?: string;
  /** The principal that asked for it. */
  readonly by: string;
  readonly reason: string;
  readonly requestId: string;
  readonly atMs: number;
  readonly expiresAtMs: number;
}

export interface ClearingWord {
  readonly by: string;
  readonly reason: string;
  readonly atMs: number;
  readonly ofSomeAccounts?: true;
}

/**
 * The journal of commands: durable before anything is acknowledged, and the only memory that
 * survives. Every call has a deadline; rejects when the database can't be reached or the outcome of
 * its own commit is not known. The caller then knows nothing, and sends nothing.
 *
 * Database invariants, which hold even if the code above is wrong: one command per (principal,
 * key); attempt numbers without a gap; at most one attempt of a command that is not `not_sent` or
 * `refused`; an attempt goes prepared → sending at most once, and nothing leaves a state it may not
 * leave; evidence is append only; one command per bound order and kind `place`; one cancel-all per
 * (shard, principal, key).
 */
export interface CommandJournal {
  /**
   * One transaction: the command, attempt 1, the first event. It also checks the limits of a place
   * or replace, with all that is open, unresolved or journaled in the account by then: of commands
   * that are opened at once, each is counted against the others.
   */
  open(command: NewCommand, fence: Fence): Promise<OpenResult>;
  /**
   * All that `open` would refuse the command for, under the key of no other command. Writes
   * nothing: the transaction is read only.
   */
  preview(command: JudgedCommand): Promise<JournalPreview>;
  /**
   * PREPARED → SENDING, committed. Only `true` permits the one write. `false`: another holder, or
   * the attempt is not prepared any more. A reason: a halt, the end of its token or a change of its
   * limits that was committed before forbids it (`PLACING_HALTED`, `TOKEN_ENDED`,
   * `LIMITS_CHANGED`), and nothing was written; a cancel always passes. Rejects when the outcome of
   * the commit is not known: nothing may be written then.
   */
  markSending(attemptId: string, atMs: number, fence: Fence): Promise<boolean | Reason>;
  step(step: CommandStep, fence: Fence): Promise<StepResult>;
  /**
   * Counts the miss, with its evidence, in one transaction. It is not a step of the command: there
   * is no new version and no event.
   */
  noteMiss(miss: Miss, fence: Fence): Promise<MissResult>;
  /**
   * Any process may add true facts at any time (a late answer at
   * a former holder): they are not a verdict.
   */
  addEvidence(commandId: string, evidence: readonly NewEvidence[]): Promise<void>;
  /**
   * Raises the fence to `epoch`, then, in the same transaction: attempts SENDING →
   * UNKNOWN, PREPARED → `not_sent`, with their commands, evidence and events. Returns
   * every command that is not final, and those that became so within `recentMs` (a
   * late landing may still come), oldest first.
   */
  takeOver(fence: Fence, atMs: number, recentMs: number): Promise<Command[]>;
  find(commandId: string): Promise<Command | undefined>;
  /**
   * The command that holds this key as `open` sees it: a key that may be used again is not found.
   * One look-up without a write.
   */
  findByKey(principal: string, idempotencyKey: string): Promise<Command | undefined>;
  /** Commands by the id of one of their attempts; ids that are not ours are left out. */
  findByAttempts(attemptIds: readonly string[]): Promise<Map<string, Command>>;
  evidenceOf(commandId: string): Promise<Evidence[]>;
  /**
   * Commands that are not final, oldest first, at most `limit`, by
   * (createdAtMs, commandId) from above `after`.
   */
  unresolved(limit: number, after?: Pick<Command, 'createdAtMs' | 'commandId'>): Promise<Command[]>;
  /** Orders that ingest bound to these commands. */
  boundOrders(commandIds: readonly string[]): Promise<BoundOrder[]>;
  /**
   * Other cancels of the same order that may have been in flight at the same time as these: neither
   * refused nor unsent, and not settled more than a day before these were opened (the clocks of two
   * holders may differ by hours).
   */
  rivalCancels(commandIds: readonly string[]): Promise<RivalCancel[]>;
  /**
   * A page of the final places of the shard, however old, except those `applied` with an
   * order: the orders that are bound to them after all, except those that agree with the
   * outcome (a rejected order of a rejected place). `next`: where the next page begins; absent
   * after the last one. At most `limit` places.
   */
  landings(shard: number, after: string | undefined, limit: number): Promise<Landings>;
  /**
   * Updates of one order with a revision above `afterRevision`,
   * oldest first, at most `limit`; from the log.
   */
  updatesAfter(stream: Stream, orderId: string, afterRevision: number, limit: number): Promise<SettlingUpdate[]>;
  /** The order as it is stored, with the fields that a baseline needs. */
  readOrder(stream: Stream, orderId: string): Promise<SettlingUpdate | undefined>;
  /** Open orders of one account, both streams, by (stream, orderId), from above `after`. */
  openOrders(accountId: string, after: OpenOrder | undefined, limit: number): Promise<(OpenOrder & Selectable)[]>;
  /**
   * These orders of the account, whatever their state, with what they are selected by; those that
   * are not stored are left out.
   */
  namedOrders(accountId: string, orders: readonly OpenOrder[]): Promise<(OpenOrder & Selectable)[]>;
  /** Places of these accounts that are not final and whose order was not seen. */
  unseenPlaces(accountIds: readonly string[]): Promise<(PlaceOfAccount & Selectable)[]>;
  /**
   * Opens one cancel-all with its list. Its key is unique only among the cancel-alls
   * of the shard, and is held until the cancel-all is no longer in force, its
   * cancels are final, and it is seven days old.
   */
  openCancelAll(cancelAll: NewCancelAll, fence: Fence): Promise<OpenCancelAllResult>;
  /** The cancel-all of the shard that holds this key as `openCancelAll` sees it. */
  findCancelAll(shard: number, principal: string, idempotencyKey: string): Promise<NewCancelAll | undefined>;
  /** The cancel-alls of the shard that are in force, oldest first. */
  cancelAllsInForce(shard: number): Promise<NewCancelAll[]>;
  /** The cancel-all is no longer in force. A second call changes nothing. False: fenced. */
  endCancelAll(cancelAllId: string, atMs: number, fence: Fence): Promise<boolean>;
  /**
   * Arms, renews or ends the timers of a principal on these accounts, and no other timers. Returns
   * when they run out, by the journal's own clock; undefined: fenced.
   */
  setCancelTimers(change: CancelTimersChange, fence: Fence): Promise<number | undefined>;
  /** The timers of the shard that have neither been disarmed nor fired, the next one first. */
  armedCancelTimers(shard: number): Promise<CancelTimer[]>;
  /** The timer has fired. Changes nothing where it was renewed since. False: fenced. */
  endCancelTimer(timerId: string, fence: Fence): Promise<boolean>;
  /**
   * The active halts, oldest first; and of those that the caller knows, the ones that were cleared.
   * A row of a halt is never deleted.
   */
  activeHalts(knownIds?: readonly string[]): Promise<Halt[]>;
  /**
   * The holder of the lane says that it holds all of these halts.
   * False: the lane is not its any more.
   */
  holdHalts(lane: number, epoch: bigint, haltIds: readonly string[]): Promise<boolean>;
  /**
   * The processes with a lane, renewed less than `expireMs` ago, that have not said that they hold
   * this halt. None where it is not in force.
   */
  withoutHalt(haltId: string, expireMs: number): Promise<string[]>;
  /**
   * Adds the halt unless an active one has the same scope and cause; then that one is returned. One
   * that is there already is returned as it is, also where it was cleared: the process that puts a
   * halt back does not know that. Without a fence the holder of the shard is not checked: this is
   * for a process that saw the cause while it led, and could not write the halt down then.
   */
  raiseHalt(halt: Halt, fence: Fence | undefined): Promise<Halt | 'fenced'>;
  /**
   * Clears all active halts of the scope. Returns how many. `kept`: none was cleared, since one of
   * them is of an operator for every account and the word is `ofSomeAccounts`.
   */
  clearHalts(scope: Halt['scope'], word: ClearingWord, fence: Fence): Promise<number | 'kept' | 'fenced'>;
  /** Every row of limits, by its scope. */
  limits(): Promise<LimitRow[]>;
  /**
   * Sets the bounds of a scope, with its line of the audit trail, in one transaction, under no
   * fence: `open` reads them each time. False: the bounds no longer equal `before`.
   */
  changeLimits(change: LimitsChange): Promise<boolean>;
  /**
   * Writes the request down, with its line of the audit trail, in one transaction, under no fence.
   * Where the same principal waits for the same act already, that request is the answer, and
   * nothing is written. Undefined: it has `mostWaiting` that wait already.
   */
  requestApproval(approval: Approval): Promise<Approval | undefined>;
  /**
   * The requests that wait: neither approved nor expired. Oldest first, at most 1,000. `accounts`:
   * of these alone; left out: of every account.
   */
  approvals(atMs: number, accounts?: readonly string[]): Promise<Approval[]>;
  /** The one with this id, however many wait; undefined: it does not wait. */
  findApproval(approvalId: string, atMs: number): Promise<Approval | undefined>;
  /**
   * Approves the request once, with its line of the audit trail. Undefined: it does not wait, or
   * `by` is the principal that asked for it.
   */
  takeApproval(approvalId: string, word: ClearingWord & { readonly requestId: string }): Promise<Approval | undefined>;
  /**
   * Records each act on the command side with its principal: halts, resumes, settlements,
   * cancel-all, refusals of authorization. Append only, all or none. `again`: the write before may
   * have been done, so lines that are there already are left out.
   */
  audit(entries: readonly AuditEntry[], again?: boolean): Promise<void>;
}

export interface AuditEntry {
  readonly atMs: number;
  readonly principal: string;
  /** `place`, `replace`, `cancel`, `halt`, `resume`, `cancel_all`, `settle`. */
  readonly action: string;
  readonly accountId?: string;
  readonly commandId?: string;
  readonly requestId?: string;
  readonly reason?: string;
  readonly detail?: Readonly<Record<string, unknown>>;
}

/**
 * One hold of the shard. All work begun under it ends with it: every wait listens to `over`, and
 * every write of the journal carries `fence`.
 */
export interface Term {
  readonly fence: Fence;
  readonly over: AbortSignal;
}
