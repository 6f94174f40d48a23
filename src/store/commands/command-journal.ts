import type {
  AttemptState,
  Baseline,
  Command,
  CommandRequest,
  CommandState,
  Evidence,
  Reason,
} from '../../domain/command.ts';
import type { LimitBreach, LimitReading } from '../../domain/limits.ts';
import type { Measure } from '../../domain/measure-command.ts';
import type { Stream } from '../../domain/order.ts';
import type { BoundOrder, ResolvingUpdate } from '../../domain/resolving.ts';
import type { CancelAllJournal } from './cancel-all-journal.ts';
import type { UnreadableCommand } from './decode-command.ts';
import type { Approving, Halt, HaltsJournal } from './halts-journal.ts';
import type { Fence } from './term.ts';

/** The journal looks at this before it writes a command. */
export interface JudgedCommand {
  readonly principal: string;
  readonly request: CommandRequest;
  readonly callerRef?: string;
  /** Refuses the command if another command already has the principal's reference. */
  readonly callerRefOnce?: boolean;
  readonly supersedes?: string;
  readonly atMs: number;
  /** Place and replace: the amounts compared with the limits. */
  readonly measure?: Measure;
  /** A real account: nothing is placed unless all required limits are set (`requiredLimits`). */
  readonly limitsRequired?: true;
}

/** The answer `open` would give now to a place or replace, in its order. */
export interface JournalPreview {
  readonly callerRefReused: boolean;
  readonly notSuperseded: boolean;
  /** Every limit that applies, in the order they are judged. */
  readonly limits: readonly LimitReading[];
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
  /**
   * Attempt 1 begins SENDING at this time, in the same commit, unless something committed earlier
   * forbids it to be sent: then it begins PREPARED, and `markSending` says why.
   */
  readonly sendingAtMs?: number;
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

export interface HaltBounds {
  readonly account: number;
  readonly service: number;
}

/**
 * One step of one command: one row, by compare-and-set on `version`, with an attempt's move and
 * evidence. It is an event for the results topic.
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
  /**
   * If the command becomes unknown or gets into conflict, and so many are so by then, their account
   * or the service is halted with the step. The service: all processes. Left out: nothing is.
   */
  readonly haltAt?: HaltBounds;
  /** Why the account is halted with the step: its order landed late. */
  readonly lateLanding?: string;
  /** A person's step that needs a second principal. */
  readonly approval?: Approving;
  /** No caller waits for it: for 10 ms it may wait for other writes, and goes with them. */
  readonly mayWait?: boolean;
}

export type StepResult =
  /** `halts`: those that it raised. */
  | { readonly kind: 'stepped'; readonly command: Command; readonly halts?: readonly Halt[] }
  /** Another writer stepped first. This is the command as it is now: decide again. */
  | { readonly kind: 'stale'; readonly command: Command }
  /** Its approval does not wait, or is of the principal that asked for it. Nothing was written. */
  | { readonly kind: 'not_waiting' }
  | { readonly kind: 'fenced' };

/** Of one write: some ten milliseconds on the server, and of a group of writes a part. */
export const maxMisses = 200;

/** A complete read that did not show an unknown command. */
export interface Miss {
  readonly commandId: string;
  /** The read was judged by this version. */
  readonly version: number;
  readonly evidence: NewEvidence;
}

export type MissResult =
  | {
      readonly kind: 'noted';
      /** How often each was missed by now. */
      readonly noted: readonly Pick<Command, 'commandId' | 'misses'>[];
      /** At another version, or not unknown any more: nothing was written of them. */
      readonly moved: readonly Command[];
    }
  | { readonly kind: 'fenced' };

export interface Landings {
  readonly bound: readonly BoundOrder[];
  readonly next?: string;
}

export interface Rival {
  readonly commandId: string;
  readonly rivalId: string;
}

/**
 * The journal of commands. It is durable before anything is acknowledged, and it is the only memory
 * that survives. Every call has a deadline. A call rejects when the database can't be reached, or
 * when the result of its own commit is not known. The caller then knows nothing, and sends
 * nothing.
 *
 * Database invariants. They hold even if the code above is wrong:
 * - one command per (principal, key);
 * - an attempt is prepared only behind one that becomes `not_sent` or `refused` in the same row;
 * - a row moves a command or an attempt only as its table allows, and only behind the newest row:
 *   an attempt goes prepared → sending at most once;
 * - rows and evidence are append only;
 * - one command per bound order and kind `place`;
 * - one cancel-all per (shard, principal, key).
 */
export interface CommandJournal extends CancelAllJournal, HaltsJournal {
  /**
   * One row: the command with attempt 1. With `sendingAtMs` an answer of this
   * very call that shows attempt 1 as `sending` permits its one write, as `markSending` does; a
   * rejection permits nothing. For a place or replace it also checks
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
   * PREPARED → SENDING, committed, where `open` did not do it. Only `true` permits the one write.
   * `false`: there is another holder, or the attempt is not prepared any more. A reason: something
   * committed earlier forbids it, and nothing was written. That is a halt (`PLACING_HALTED`), the
   * token's end (`TOKEN_ENDED`) or a change to its limits (`LIMITS_CHANGED`). A cancel always
   * passes. Rejects when the commit's result is not known: nothing may be written then.
   */
  markSending(attemptId: string, atMs: number, fence: Fence): Promise<boolean | Reason>;
  step(step: CommandStep, fence: Fence): Promise<StepResult>;
  /**
   * Counts the misses of one read, at most `maxMisses`, each with its evidence, in one transaction.
   * They are no steps: there is no new version and no event.
   */
  noteMisses(misses: readonly Miss[], fence: Fence): Promise<MissResult>;
  /**
   * Any process may add true facts at any time, such as a late answer at a former holder. They are
   * not a verdict.
   */
  addEvidence(commandId: string, evidence: readonly NewEvidence[]): Promise<void>;
  /**
   * Waits for the former holder's transactions; none can follow. Then steps turn attempts SENDING →
   * UNKNOWN and PREPARED → `not_sent`, with their commands, and raise the halts that the unknown
   * ones cause. A rejection may leave some to the next call.
   * Returns every command that is not final, and those final since less than
   * `recentMs`, oldest first. A late landing may still come for the second kind. A command that
   * can't be read is not among them: it is given to `onUnreadable`, and what it has sent is not
   * known. It may be tried again.
   */
  takeOver(
    fence: Fence,
    atMs: number,
    recentMs: number,
    haltAt?: HaltBounds,
    onUnreadable?: (command: UnreadableCommand) => void,
  ): Promise<Command[]>;
  find(commandId: string): Promise<Command | undefined>;
  /**
   * The command holding this key, as `open` sees it. A key that may be used again is not found. One
   * look-up without a write.
   */
  findByKey(principal: string, idempotencyKey: string): Promise<Command | undefined>;
  /** Commands by attempt id. Ids that are not ours are left out. */
  findByAttempts(attemptIds: readonly string[]): Promise<Map<string, Command>>;
  /**
   * Commands not final, oldest first, at most `limit`, by (createdAtMs, commandId) from above
   * `after`. `shards`: of these alone.
   */
  unresolved(
    limit: number,
    after?: Pick<Command, 'createdAtMs' | 'commandId'>,
    shards?: readonly number[],
  ): Promise<Command[]>;
  /** Orders bound to these commands by ingest. */
  boundOrders(commandIds: readonly string[]): Promise<BoundOrder[]>;
  /**
   * Of cancels: the other cancels for the same order, perhaps in flight at the same time as these.
   * They were not resolved more than a day before these were opened: two holders' clocks may differ
   * by hours. Of replaces: those that supersede them or that they supersede, one behind the other.
   * None is refused or unsent. By id.
   */
  rivals(commandIds: readonly string[]): Promise<Rival[]>;
  /**
   * Looks at one page of the shard's final places, however old, except those `applied` with an
   * order. Returns the orders bound to them after all, except those that agree with the result (a
   * rejected order and a rejected place). `next`: the start of the next page, absent after the last
   * one. At most `limit` places.
   */
  landings(shard: number, after: string | undefined, limit: number): Promise<Landings>;
  /**
   * Updates for one order with a revision above `afterRevision`, oldest first, at most `limit`,
   * from the log.
   */
  updatesAfter(stream: Stream, orderId: string, afterRevision: number, limit: number): Promise<ResolvingUpdate[]>;
  /** The stored order, with the fields a baseline needs. */
  readOrder(stream: Stream, orderId: string): Promise<ResolvingUpdate | undefined>;
  /**
   * Records each act on the command side with its principal: halts, resumes, resolutions,
   * cancel-all, refusals of authorization. Append only, all or none. `again`: the write before may
   * have been done, so lines already there are left out. `mayWait`: as of a step.
   */
  addToAuditTrail(entries: readonly AuditTrailEntry[], again?: boolean, mayWait?: boolean): Promise<void>;
  /** The process ends: from here on no write waits for others. */
  hurry(): void;
}

export interface AuditTrailEntry {
  readonly atMs: number;
  readonly principal: string;
  /** `place`, `replace`, `cancel`, `halt`, `resume`, `cancel_all`, `resolve`. */
  readonly action: string;
  readonly accountId?: string;
  readonly commandId?: string;
  readonly requestId?: string;
  readonly reason?: string;
  readonly detail?: Readonly<Record<string, unknown>>;
}
