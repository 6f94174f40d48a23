import type { AttemptState, Baseline, Command, CommandState, Evidence, Reason } from '../../domain/command.ts';
import type { Bounds, BoundsChange, LimitBreach, LimitRow, LimitScope } from '../../domain/limits.ts';
import type { Stream } from '../../domain/order.ts';
import type { OrderSelection, Selectable } from '../../domain/select-orders.ts';
import type { BoundOrder, SettlingUpdate } from '../../domain/settling.ts';
import type { JournalPreview, JudgedCommand } from './journal-preview.ts';

export type { BoundOrder, SettlingUpdate };

/**
 * The shard's term for a write. Every write to the journal carries one, except `addEvidence`,
 * `changeLimits`, approvals and `audit`. It is refused once a later holder has called `takeOver`.
 * Commands have their own fence. So slow journal transactions never wait for the lane's row, nor
 * the other way round.
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
   * Attempt 1, PREPARED. Absent if we refuse the command ourselves: then there is a `refusal`, and
   * the command is journaled as `refused`.
   */
  readonly attemptId?: string;
  readonly refusal?: Reason;
  /**
   * The number of the database token it was asked for with. Once that token has ended, only a
   * cancel is sent for the command.
   */
  readonly tokenNumber?: number;
}

export type OpenResult =
  | { readonly kind: 'opened'; readonly command: Command }
  /**
   * The same principal used the same key with the same request. This is the command as it is now.
   * Nothing was written.
   */
  | { readonly kind: 'replayed'; readonly command: Command }
  /** The same key with another request. Nothing was written. */
  | { readonly kind: 'key_reused' }
  /**
   * `callerRefOnce` was set, and another command has the principal's reference. Nothing was
   * written.
   */
  | { readonly kind: 'caller_ref_reused' }
  /**
   * The command in `supersedes` is not presumed absent any more, or it has a successor that is
   * neither `not_sent` nor `refused`. Nothing was written.
   */
  | { readonly kind: 'not_superseded' }
  /** A place or replace breaks a limit. Nothing was written. */
  | { readonly kind: 'limited'; readonly breach: LimitBreach }
  | { readonly kind: 'fenced' };

export type NewEvidence = Omit<Evidence, 'number'>;

/**
 * One step of one command, in one transaction. It writes the command's row by compare-and-set on
 * `version`, an attempt's row, evidence, and an event for the outcomes topic.
 */
export interface CommandStep {
  readonly commandId: string;
  /** The step was decided on this version. */
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
  /** Another writer stepped first. This is the command as it is now: decide again. */
  | { readonly kind: 'stale'; readonly command: Command }
  | { readonly kind: 'fenced' };

/** A complete read that did not show an unknown command. */
export interface Miss {
  readonly commandId: string;
  /** The read was judged by this version. */
  readonly version: number;
  readonly evidence: NewEvidence;
}

export type MissResult =
  | { readonly kind: 'noted'; readonly command: Command }
  /** It is at another version, or not unknown any more. Nothing was written. */
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

/** The orders a cancel-all covers. */
export interface CancelAllSelection extends OrderSelection {
  /** Absent: every account in the shard. */
  readonly accountId?: string;
}

/** A place without a known order yet. */
export interface PlaceOfAccount {
  readonly accountId: string;
  readonly stream: Stream;
  readonly commandId: string;
}

/** An account on one stream. It may have open orders we do not know. */
export interface UnreadAccount {
  readonly accountId: string;
  readonly stream: Stream;
  readonly code: 'NOT_LIVE' | 'NOT_READ' | 'UNCERTAIN';
  readonly message: string;
}

/** The fate of a listed place's order if it lands while the cancel-all is in force. */
export type OnLanding = 'cancel' | 'leave';

/**
 * The orders and places a cancel-all has to cancel. Written before the first cancel, and never
 * changed. It is then in force, over restarts and takeovers, until its orders have their cancels
 * and its places are settled.
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
  /** Accounts with nothing to cancel, and why. */
  readonly declined: readonly { readonly accountId: string; readonly code: string; readonly message: string }[];
  readonly atMs: number;
}

export type OpenCancelAllResult =
  /** `replayed`: the cancel-all already has the key, with its own list. Nothing was written. */
  | { readonly kind: 'opened' | 'replayed'; readonly cancelAll: NewCancelAll }
  /** The same key with another scope or reason. Nothing was written. */
  | { readonly kind: 'key_reused' }
  | { readonly kind: 'fenced' };

/**
 * The key for one cancel: by the order's index in the list, or by the command that placed the
 * order.
 */
export function keyOfCancel({ cancelAllId }: NewCancelAll, of: number | string): string {
  return `cancel-all:${cancelAllId}:${of}`;
}

/** New bounds for one scope of limits. Without any, the row is deleted. */
export interface LimitsChange extends LimitScope {
  /** The change was decided on these bounds. */
  readonly before: Bounds;
  readonly bounds: Bounds;
  readonly by: string;
  /** The second principal, if one is needed. */
  readonly approvedBy?: string;
  readonly reason: string;
  readonly requestId: string;
  readonly atMs: number;
}

/** An armed dead man's switch: the account's orders are cancelled when it runs out. */
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

/** Acts that may need a second principal. */
export type OperatorAction =
  /** `ofSomeAccounts`: the asking token names only some accounts. */
  | { readonly kind: 'resume'; readonly scope: Halt['scope']; readonly ofSomeAccounts?: true }
  | {
      readonly kind: 'settle';
      readonly commandId: string;
      readonly outcome: 'applied' | 'rejected' | 'not_sent' | 'moot';
    }
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
 * The journal of commands. It is durable before anything is acknowledged, and it is the only memory
 * that survives. Every call has a deadline. A call rejects when the database can't be reached, or
 * when the outcome of its own commit is not known. The caller then knows nothing, and sends
 * nothing.
 *
 * Database invariants. They hold even if the code above is wrong:
 * - one command per (principal, key);
 * - attempt numbers without a gap;
 * - at most one attempt per command that is not `not_sent` or `refused`;
 * - an attempt goes prepared → sending at most once, and nothing leaves a state it may not leave;
 * - evidence is append only;
 * - one command per bound order and kind `place`;
 * - one cancel-all per (shard, principal, key).
 */
export interface CommandJournal {
  /**
   * One transaction: the command, attempt 1, the first event. For a place or replace it also checks
   * the limits, with everything open, unresolved or journaled in the account by then. Commands
   * opened at once are each counted against the others.
   */
  open(command: NewCommand, fence: Fence): Promise<OpenResult>;
  /**
   * Every reason for which `open` would refuse the command, as if under a key no other command has.
   * Writes nothing: the transaction is read only.
   */
  preview(command: JudgedCommand): Promise<JournalPreview>;
  /**
   * PREPARED → SENDING, committed. Only `true` permits the one write. `false`: there is another
   * holder, or the attempt is not prepared any more. A reason: something committed earlier forbids
   * it, and nothing was written. That is a halt (`PLACING_HALTED`), the token's end (`TOKEN_ENDED`)
   * or a change to its limits (`LIMITS_CHANGED`). A cancel always passes. Rejects when the commit's
   * outcome is not known: nothing may be written then.
   */
  markSending(attemptId: string, atMs: number, fence: Fence): Promise<boolean | Reason>;
  step(step: CommandStep, fence: Fence): Promise<StepResult>;
  /**
   * Counts the miss, with its evidence, in one transaction. It is not a step: there is no new
   * version and no event.
   */
  noteMiss(miss: Miss, fence: Fence): Promise<MissResult>;
  /**
   * Any process may add true facts at any time, such as a late answer at a former holder. They are
   * not a verdict.
   */
  addEvidence(commandId: string, evidence: readonly NewEvidence[]): Promise<void>;
  /**
   * Raises the fence to `epoch`. The same transaction turns attempts SENDING → UNKNOWN and PREPARED
   * → `not_sent`, with their commands, evidence and events. Returns every command that is not
   * final, and those final since less than `recentMs`, oldest first. A late landing may still come
   * for the second kind.
   */
  takeOver(fence: Fence, atMs: number, recentMs: number): Promise<Command[]>;
  find(commandId: string): Promise<Command | undefined>;
  /**
   * The command holding this key, as `open` sees it. A key that may be used again is not found. One
   * look-up without a write.
   */
  findByKey(principal: string, idempotencyKey: string): Promise<Command | undefined>;
  /** Commands by attempt id. Ids that are not ours are left out. */
  findByAttempts(attemptIds: readonly string[]): Promise<Map<string, Command>>;
  evidenceOf(commandId: string): Promise<Evidence[]>;
  /**
   * Commands not final, oldest first, at most `limit`, by (createdAtMs, commandId) from above
   * `after`.
   */
  unresolved(limit: number, after?: Pick<Command, 'createdAtMs' | 'commandId'>): Promise<Command[]>;
  /** Orders bound to these commands by ingest. */
  boundOrders(commandIds: readonly string[]): Promise<BoundOrder[]>;
  /**
   * Other cancels for the same order, perhaps in flight at the same time as these. They are neither
   * refused nor unsent. They were not settled more than a day before these were opened: two
   * holders' clocks may differ by hours.
   */
  rivalCancels(commandIds: readonly string[]): Promise<RivalCancel[]>;
  /**
   * Looks at one page of the shard's final places, however old, except those `applied` with an
   * order. Returns the orders bound to them after all, except those that agree with the outcome (a
   * rejected order and a rejected place). `next`: the start of the next page, absent after the last
   * one. At most `limit` places.
   */
  landings(shard: number, after: string | undefined, limit: number): Promise<Landings>;
  /**
   * Updates for one order with a revision above `afterRevision`, oldest first, at most `limit`,
   * from the log.
   */
  updatesAfter(stream: Stream, orderId: string, afterRevision: number, limit: number): Promise<SettlingUpdate[]>;
  /** The stored order, with the fields a baseline needs. */
  readOrder(stream: Stream, orderId: string): Promise<SettlingUpdate | undefined>;
  /** One account's open orders, both streams, by (stream, orderId), from above `after`. */
  openOrders(accountId: string, after: OpenOrder | undefined, limit: number): Promise<(OpenOrder & Selectable)[]>;
  /**
   * These orders in the account, in any state, with the fields they are selected by. Orders that
   * are not stored are left out.
   */
  namedOrders(accountId: string, orders: readonly OpenOrder[]): Promise<(OpenOrder & Selectable)[]>;
  /** Places in these accounts that are not final and have no known order. */
  unseenPlaces(accountIds: readonly string[]): Promise<(PlaceOfAccount & Selectable)[]>;
  /**
   * Opens one cancel-all with its list. Its key is unique only among the shard's cancel-alls. The
   * key is held until the cancel-all is no longer in force, its cancels are final, and it is seven
   * days old.
   */
  openCancelAll(cancelAll: NewCancelAll, fence: Fence): Promise<OpenCancelAllResult>;
  /** The shard's cancel-all that holds this key, as `openCancelAll` sees it. */
  findCancelAll(shard: number, principal: string, idempotencyKey: string): Promise<NewCancelAll | undefined>;
  /** The shard's cancel-alls in force, oldest first. */
  cancelAllsInForce(shard: number): Promise<NewCancelAll[]>;
  /** The cancel-all is no longer in force. A second call changes nothing. False: fenced. */
  endCancelAll(cancelAllId: string, atMs: number, fence: Fence): Promise<boolean>;
  /**
   * Arms, renews or ends a principal's timers on these accounts, and no other timers. Returns when
   * they run out, by the journal's own clock; undefined: fenced.
   */
  setCancelTimers(change: CancelTimersChange, fence: Fence): Promise<number | undefined>;
  /** The shard's timers neither disarmed nor fired, the next one first. */
  armedCancelTimers(shard: number): Promise<CancelTimer[]>;
  /** The timer has fired. Changes nothing if it was renewed since. False: fenced. */
  endCancelTimer(timerId: string, fence: Fence): Promise<boolean>;
  /**
   * The active halts, oldest first. Also the cleared ones among those the caller knows. A halt's
   * row is never deleted.
   */
  activeHalts(knownIds?: readonly string[]): Promise<Halt[]>;
  /** The lane's holder says it holds all these halts. False: the lane is not its any more. */
  holdHalts(lane: number, epoch: bigint, haltIds: readonly string[]): Promise<boolean>;
  /**
   * Processes with a lane, renewed less than `expireMs` ago, that have not said they hold this
   * halt. None if it is not in force.
   */
  withoutHalt(haltId: string, expireMs: number): Promise<string[]>;
  /**
   * Adds the halt, unless an active one has the same scope and cause; then that one is returned. A
   * halt already there is returned as it is, even a cleared one: the process that puts a halt back
   * does not know about the clearing. Without a fence the shard's holder is not checked. That is
   * for a process that saw the cause while it led, and could not write the halt down then.
   */
  raiseHalt(halt: Halt, fence: Fence | undefined): Promise<Halt | 'fenced'>;
  /**
   * Clears all active halts in the scope. Returns how many. `kept`: none was cleared. One is an
   * operator's halt for every account, and the word is `ofSomeAccounts`.
   */
  clearHalts(scope: Halt['scope'], word: ClearingWord, fence: Fence): Promise<number | 'kept' | 'fenced'>;
  /** Every row of limits, by its scope. */
  limits(): Promise<LimitRow[]>;
  /**
   * Sets a scope's bounds, with its audit line, in one transaction. It needs no fence, as `open`
   * reads the bounds each time. False: the bounds no longer equal `before`.
   */
  changeLimits(change: LimitsChange): Promise<boolean>;
  /**
   * Writes the request down, with its audit line, in one transaction, under no fence. If the same
   * principal already waits for the same act, that request is the answer, and nothing is written.
   * Undefined: the principal already has `mostWaiting` waiting requests.
   */
  requestApproval(approval: Approval): Promise<Approval | undefined>;
  /**
   * Requests neither approved nor expired, oldest first, at most 1,000. `accounts`: only those for
   * these accounts; left out: for every account.
   */
  approvals(atMs: number, accounts?: readonly string[]): Promise<Approval[]>;
  /** The request with this id, however many wait; undefined: it does not wait. */
  findApproval(approvalId: string, atMs: number): Promise<Approval | undefined>;
  /**
   * Approves the request once, with its audit line. Undefined: it does not wait, or `by` asked for
   * it.
   */
  takeApproval(approvalId: string, word: ClearingWord & { readonly requestId: string }): Promise<Approval | undefined>;
  /**
   * Records each act on the command side with its principal: halts, resumes, settlements,
   * cancel-all, refusals of authorization. Append only, all or none. `again`: the write before may
   * have been done, so lines already there are left out.
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
 * One hold on the shard. All work begun under it ends with it: every wait listens to `over`, and
 * every write to the journal carries `fence`.
 */
export interface Term {
  readonly fence: Fence;
  readonly over: AbortSignal;
}
