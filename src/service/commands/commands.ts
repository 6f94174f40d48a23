import type { SpanContext } from '@opentelemetry/api';
import type { Command, CommandRequest, ResultWord } from '../../domain/command.ts';
import type { BoundsChange, LimitReading, LimitRow, LimitScope } from '../../domain/limits.ts';
import type { Measure } from '../../domain/measure-command.ts';
import type { OrderSelection } from '../../domain/select-orders.ts';
import type {
  NewCancelAll,
  OnLanding,
  OrderOfAccount,
  PlaceOfAccount,
} from '../../store/commands/cancel-all-journal.ts';
import type { Approval, Approving, Halt, PersonsResult } from '../../store/commands/halts-journal.ts';
import type { PersonsWord } from '../../store/commands/read-audit-trail.ts';
import type { Answer, Declined, Done } from './answer.ts';
import type { QuoteRead } from './order-entry.ts';

export interface Submission {
  readonly principal: string;
  /** Its database token's number, if it was asked for with one. */
  readonly tokenNumber?: number;
  readonly idempotencyKey: string;
  /**
   * Already in the right shape (`contract/command-bodies.ts`); checks against the order's state are
   * made here.
   */
  readonly request: CommandRequest;
  readonly callerRef?: string;
  readonly supersedes?: string;
  /** Replace and cancel: only at this revision of the order. */
  readonly ifRevision?: number;
  /**
   * A cancel no person gave for this very order: only of the order listed, or of the one the
   * command placed. The platform may have given its id to another one since.
   * `whileOpen`: not once it has ended here, so that no order which nothing has shown yet is met.
   */
  readonly onlyOf?: { readonly whileOpen: boolean } & (
    | { readonly incarnation: number | undefined }
    | { readonly commandId: string }
  );
  readonly requestId: string;
  /**
   * How long the caller waits for the end (`Prefer: wait`), also while the platform has not
   * answered. The answer comes earlier when there is nothing left to wait for. Without it the
   * answer comes once the command is not open any more: by the platform's answer, or by the stream.
   */
  readonly waitMs?: number;
  /** The span of whatever asked, where traces are on. */
  readonly span?: SpanContext | undefined;
}

/** A place or a replace that is only looked at. */
export type PreviewAsked = Pick<Submission, 'principal' | 'callerRef' | 'supersedes' | 'ifRevision' | 'requestId'> & {
  readonly request: Exclude<CommandRequest, { kind: 'cancel' }>;
};

/** What a command would come to just now. Nothing was written or sent. */
export type Preview = Done<{
  readonly measure: Measure;
  readonly quotes: readonly QuoteRead[];
  /** Every limit for it, in judging order. */
  readonly limits: readonly LimitReading[];
  /** All objections; the command would get the first as its answer. */
  readonly refusals: readonly Declined[];
}>;

/** Declined instead: nothing was journaled. */
export interface Journaled {
  readonly kind: 'journaled';
  readonly command: Command;
  readonly replayed: boolean;
}

/** `reason`: never empty. */
export interface OperatorWord extends PersonsWord {
  /** The token names only some accounts: a halt of every account stays. */
  readonly ofSomeAccounts?: true;
  /** Where a second principal has approved it. */
  readonly approval?: Approving;
}

/**
 * Where a second principal is needed (`fourEyes`): the request
 * was written down, and nothing was done yet.
 */
export interface Requested {
  readonly kind: 'requested';
  readonly approval: Approval;
}

/** How much one account (or the service) may still send, for RateLimit headers. */
export interface Allowance {
  readonly limit: number;
  readonly remaining: number;
  readonly resetMs: number;
}

/** One round of the resolver, for `probe --dry-run` and `/status`. */
export interface ProbeReport {
  readonly unresolved: number;
  readonly probes: number;
  readonly resolved: readonly { readonly commandId: string; readonly result: ResultWord }[];
  /** The reads that would be made, or were made. */
  readonly plan: readonly {
    readonly accountId: string;
    readonly stream: string;
    readonly read: string;
    readonly commands: readonly string[];
  }[];
}

/** One account, or all that are followed, by their ids. `only`: selects among their orders. */
export type CancelAllScope = (
  | { readonly kind: 'account'; readonly accountId: string }
  | { readonly kind: 'service'; readonly accountIds: readonly string[] }
) & { readonly only?: OrderSelection };

/** `onLanding`: if left out, an order landing late is cancelled. */
export type CancelAllWord = OperatorWord & { readonly idempotencyKey: string; readonly onLanding?: OnLanding };

interface CancelAllEntry extends Pick<OrderOfAccount, 'accountId' | 'stream' | 'orderId'> {
  /** Undefined: its cancel is still under way. */
  readonly result: Answer<Journaled> | undefined;
}

/** A place that was unresolved when the cancel-all was first asked for. */
export interface CancelAllPlace extends PlaceOfAccount {
  /** As it is now; undefined where the journal did not say. */
  readonly command: Command | undefined;
  /** The cancel of its order, once it has landed. */
  readonly result: Answer<Journaled> | undefined;
}

/** Declined instead: this call has journaled and sent no cancel. */
export type CancelAll = Done<{
  /** The key was known: the orders are those of its first call. */
  readonly replayed: boolean;
  /**
   * It goes on: orders wait for their cancels, or places for their result. An order that lands is
   * cancelled, unless the caller asked to leave it.
   */
  readonly inForce: boolean;
  /** An order of this process's accounts may be open without a cancel in hand. */
  readonly open: boolean;
  readonly orders: readonly CancelAllEntry[];
  readonly places: readonly CancelAllPlace[];
  /** Accounts with perhaps unknown open orders. */
  readonly unread: NewCancelAll['unread'];
  /**
   * For the whole service: accounts without any cancel, and why. `NOT_LEADER`: another process
   * holds their shard, and has to be asked for them under the same key.
   */
  readonly declined: NewCancelAll['declined'];
}>;

export interface CancelAfter {
  readonly principal: string;
  /** 0: disarms. */
  readonly afterMs: number;
  readonly accountIds: readonly string[];
  /** The caller named no accounts: those that are not followed now are left out. */
  readonly implied?: boolean;
  readonly requestId: string;
}

export type TimersSet = Done<{
  /** The accounts whose timers are as asked. */
  readonly accountIds: readonly string[];
  /** Wall time: when the first runs out; absent if they were disarmed. */
  readonly firesAtMs?: number;
  /**
   * The other accounts, whose timers are as they were. `NOT_LEADER`: another process holds their
   * shard, and has to be asked for them.
   */
  readonly declined: readonly (Omit<Declined, 'kind'> & { readonly accountId: string })[];
}>;

/** Every halt in force, of every scope. */
export type HaltsNow = Done<{ readonly halts: readonly Halt[] }>;
/** Every row. */
export type LimitsNow = Done<{ readonly limits: readonly LimitRow[] }>;
export type Approvals = Done<{ readonly approvals: readonly Approval[] }>;
export type Probed = Done<{ readonly report: ProbeReport }>;
/** Commands without a result in the journal, of every shard. */
export type OpenCommands = Done<{
  readonly commands: readonly { readonly commandId: string; readonly accountId: string }[];
}>;

/** An operator's acts on the command side. No call rejects. */
export interface OperatorActs {
  resolve(
    commandId: string,
    result: PersonsResult,
    word: OperatorWord,
  ): Promise<Answer<Done<{ command: Command }> | Requested>>;
  halt(scope: Halt['scope'], word: OperatorWord): Promise<Answer<HaltsNow | Requested>>;
  resume(scope: Halt['scope'], word: OperatorWord): Promise<Answer<HaltsNow | Requested>>;
  /** Those in force, of every scope. */
  readonly halts: { list(): readonly Halt[] };
  /**
   * The limits that places and replaces must keep. Any process may read
   * and change them: only the journal has them.
   */
  limits(): Promise<Answer<LimitsNow>>;
  changeLimits(scope: LimitScope, change: BoundsChange, word: OperatorWord): Promise<Answer<LimitsNow | Requested>>;
  /** What waits for a second principal. */
  readonly approvals: {
    /** Oldest first. `accounts`: of these alone; left out: of every account. */
    list(accounts?: readonly string[]): Promise<Answer<Approvals>>;
    /** The one with this id, or none. */
    find(approvalId: string): Promise<Answer<Approvals>>;
  };
  /** Approves a request of another principal, and carries it out. */
  approve(approvalId: string, word: OperatorWord): Promise<Answer<Done<{ approval: Approval }>>>;
}

/**
 * When the platform is asked about a command next, and how. In
 * the past while the question is under way.
 */
export interface NextProbe {
  /** Wall time. */
  readonly atMs: number;
  /**
   * `reference`: for an order with the reference of its attempt; `order`: for
   * its order; `account`: by a complete read.
   */
  readonly by: 'reference' | 'order' | 'account';
}

/** The command side as REST and the assembly see it. No call rejects. */
export interface Commands {
  readonly operator: OperatorActs;
  submit(submission: Submission): Promise<Answer<Journaled>>;
  /** What `submit` would say of a place or a replace just now; nothing is written or sent. */
  preview(asked: PreviewAsked): Promise<Answer<Preview>>;
  /**
   * Resolves with the command once it is final, or as it stands after
   * `waitMs`. Undefined: there is no such command.
   */
  wait(commandId: string, waitMs: number): Promise<Command | undefined>;
  /** Undefined: the platform is not asked about it, or another process does that. */
  nextProbe(commandId: string): NextProbe | undefined;
  /**
   * Cancels every open order the scope selects, with one command for each, and stays in force until
   * the unresolved places are resolved. The same key again covers the same orders, and no later
   * ones.
   */
  cancelAll(scope: CancelAllScope, word: CancelAllWord): Promise<Answer<CancelAll>>;
  /**
   * The dead man's switch: all open orders of these accounts are cancelled unless the principal
   * calls again within `afterMs`. 0 disarms it.
   */
  cancelAfter(asked: CancelAfter): Promise<Answer<TimersSet>>;
  /**
   * Probes everything unresolved of this process at once, within
   * the budget; `dryRun` reads nothing.
   */
  probeNow(options: { readonly accountId?: string; readonly dryRun: boolean }): Promise<Answer<Probed>>;
  /**
   * What a probe of all accounts has to look at, whatever process holds the accounts: each
   * command that is being sent, or that the platform can still be asked about.
   */
  openCommands(): Promise<Answer<OpenCommands>>;
  /** What is left for places and replaces. */
  readonly placeBudget: { allowance(accountId: string): Allowance };
}
