import { isUnresolved } from '../../domain/command.ts';
import type { LogRow } from '../../domain/committed-batch.ts';
import type { Log } from '../../observability/log.ts';
import type { Metrics } from '../../observability/metrics.ts';
import type { Tracing } from '../../observability/tracing.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Lease } from '../../runtime/lease.ts';
import type { Random } from '../../runtime/random.ts';
import type { AuditEntry, CommandJournal, Term } from '../../store/commands/command-journal.ts';
import type { FollowedAccounts } from '../sources/account-access.ts';
import type { Window } from '../sources/window.ts';
import { CancelAlls, type CancelAllWord } from './cancel-all/cancel-all.ts';
import { type CancelAfter, CancelTimers } from './cancel-all/cancel-timers.ts';
import { anotherLeads, cancelAllObjection, type Declined, declined, ending } from './check-submission.ts';
import { CommandBook } from './command-book.ts';
import type { CommandBooks } from './command-books.ts';
import type { CommandGauges } from './command-gauges.ts';
import type { CommandOptions } from './command-options.ts';
import { CommandSteps } from './command-steps.ts';
import type {
  CancelAfterResult,
  CancelAllResult,
  CancelAllScope,
  NextProbe,
  PlaceAsked,
  PreviewResult,
  ReconcileResult,
  Submission,
  SubmitResult,
} from './commands.ts';
import type { HaltWatch } from './halt-watch.ts';
import { accountScope, type Halts } from './halts.ts';
import type { UnseenOrders } from './look-at-order.ts';
import { notLeader } from './operator-desk.ts';
import type { OrderEntry, Quotes } from './order-entry.ts';
import { previewPlace } from './preview-place.ts';
import type { ProbeBudget } from './probe-budget.ts';
import type { RateBreaker } from './rate-breaker.ts';
import type { Budgets } from './rate-budget.ts';
import { Reconciler } from './reconciler.ts';
import { type Pacing, SendAttempts } from './send-attempts.ts';
import { type SendingTerm, SubmitCommand } from './submit-command.ts';

/** The ports, and all that the desks of one process share. */
interface CommandDeskDeps {
  readonly journal: CommandJournal;
  readonly entry: OrderEntry;
  readonly accounts: FollowedAccounts;
  readonly quotes: Quotes;
  readonly lease: Lease;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: Metrics['commands'];
  readonly log: Log;
  /** A step was just committed, and its event is in the outbox. Never waits, never throws. */
  readonly onStep: () => void;
  readonly books: CommandBooks;
  readonly halts: Halts;
  readonly haltWatch: HaltWatch;
  readonly budgets: Budgets;
  readonly breaker: RateBreaker;
  readonly probes: ProbeBudget;
  readonly unseen: UnseenOrders;
  readonly listWindow: Window;
  readonly gauges: CommandGauges;
  readonly audit: (entry: Omit<AuditEntry, 'atMs'>) => void;
  /** The process takes no new commands. */
  readonly draining: () => boolean;
  /** Asks the writes under way to give up: the process is ending. */
  readonly giveUp: AbortSignal;
  readonly tracing?: Tracing | undefined;
}

/**
 * How far back a takeover returns commands that are final: one that was not `applied` may have
 * landed while the shard had no holder.
 */
const takeOverRecentMs = 120_000;

interface Leading {
  readonly term: Term;
  /** The shard is about to be given away: no new commands. */
  closing: boolean;
}

/**
 * The command side of one shard: takes the commands of its accounts, sends them, and
 * follows them until they are settled (docs/settling.md). The parts do the work;
 * this class joins them and keeps the term.
 *
 * States: standing by → leading (between `begin` and `end`), closing at its end where the shard is
 * given away → standing by … Invariant: every write and every send belongs to the term under which
 * it began, and none is begun once the term is over or its lease is not certain. While the desk
 * stands by, every command is declined before anything happens.
 */
export class CommandDesk {
  private leading: Leading | undefined;
  /** Ends the term that began last, or is about to begin. */
  private over = new AbortController();
  private readonly book: CommandBook;
  private readonly steps: CommandSteps;
  private readonly reconciler: Reconciler;
  private readonly submitter: SubmitCommand;
  private readonly cancelAlls: CancelAlls;
  private readonly cancelTimers: CancelTimers;
  private readonly deps: CommandDeskDeps;
  private readonly options: CommandOptions & { readonly shard: number };

  constructor(deps: CommandDeskDeps, options: CommandOptions & { readonly shard: number }) {
    this.deps = deps;
    this.options = options;
    const book = new CommandBook(deps.clock, options, deps.books);
    const steps = new CommandSteps({ ...deps, book }, options);
    const shared = { ...deps, book, steps };
    this.book = book;
    this.steps = steps;
    this.reconciler = new Reconciler(shared, options);
    this.submitter = new SubmitCommand(
      {
        ...shared,
        sender: new SendAttempts(shared, options),
        sweepSoon: () => this.reconciler.sweepSoon(),
        trip: (accountId) => this.trip(accountId),
      },
      options,
    );
    const ofAccounts = {
      ...shared,
      maySend: () => this.maySend(),
      objection: (accountId: string) => cancelAllObjection(deps, options, accountId),
    };
    this.cancelAlls = new CancelAlls(
      { ...ofAccounts, submit: (submission, pacing) => this.submit(submission, pacing) },
      options,
    );
    this.cancelTimers = new CancelTimers(
      { ...ofAccounts, cancelAll: (scope, word) => this.cancelAlls.run(scope, word) },
      options,
    );
    book.onChange = (watched, before) => {
      deps.gauges.changed(watched, before);
      this.reconciler.changed(watched, before);
    };
  }

  /** The present term and its steps; undefined: another process holds the shard. */
  get holding(): { readonly term: Term; readonly steps: CommandSteps } | undefined {
    return this.leading && { term: this.leading.term, steps: this.steps };
  }

  /**
   * The shard is ours: takes over the commands that the former holder left. Rejects when the
   * journal can't be read or written. An `end` meanwhile wins.
   */
  async begin(epoch: bigint): Promise<void> {
    this.end();
    const { journal, clock, log, halts, haltWatch } = this.deps;
    const over = new AbortController();
    this.over = over;
    const { shard } = this.options;
    const term: Term = { fence: { shard, epoch }, over: over.signal };
    const atMs = clock.nowMs();
    const taken = await journal.takeOver(term.fence, atMs, takeOverRecentMs);
    await halts.load();
    if (over.signal.aborted) return;
    this.leading = { term, closing: false };
    this.reconciler.begin(term, taken);
    this.deps.gauges.begin();
    this.cancelAlls.begin(term);
    this.cancelTimers.begin(term);
    const unresolved = taken.filter(({ state }) => isUnresolved(state));
    if (unresolved.length > 0) log.warn({ shard, commands: unresolved.length }, 'commands of the shard are unresolved');
    const swept = unresolved.filter(({ updatedAtMs }) => updatedAtMs === atMs);
    this.notWaitingFor(haltWatch.afterTakeOver(swept, term));
    this.deps.onStep();
  }

  /**
   * Another process has the shard, or soon will: nothing more is sent or settled here. Attempts in
   * hand may still add evidence.
   */
  end(): void {
    this.over.abort();
    this.leading = undefined;
    this.cancelTimers.end();
    this.cancelAlls.end();
    this.reconciler.end();
    this.book.clear();
  }

  /**
   * Takes no more commands until the next `begin`. Resolves when no attempt
   * is in hand any more, or the signal aborts.
   */
  async quiesce(signal: AbortSignal): Promise<void> {
    if (this.leading !== undefined) this.leading.closing = true;
    await this.drained(signal);
  }

  /** Resolves when no attempt of any term is in hand, or the signal aborts. */
  drained(signal: AbortSignal): Promise<void> {
    return this.submitter.drained(signal);
  }

  /** A row that was just committed; see `Reconciler`. */
  follow(row: LogRow): void {
    this.reconciler.follow(row);
  }

  /** Batches were committed that can't be handed over. */
  missedCommitted(): void {
    this.reconciler.missedCommitted();
  }

  async submit(submission: Submission, pacing?: Pacing): Promise<SubmitResult> {
    const under = this.maySend();
    if ('code' in under) return this.submitter.replayOr(submission, under);
    const result = await this.submitter.submit(submission, under, pacing);
    const { request, principal, requestId } = submission;
    const { kind: action, accountId } = request;
    if (result.kind === 'journaled' && !result.replayed)
      this.deps.audit({ principal, action, accountId, commandId: result.command.commandId, requestId });
    return result;
  }

  async preview(asked: PlaceAsked): Promise<PreviewResult> {
    const under = this.maySend();
    return 'code' in under ? under : previewPlace({ ...this.deps, book: this.book }, this.options, asked);
  }

  nextProbe(commandId: string): NextProbe | undefined {
    return this.leading === undefined ? undefined : this.reconciler.nextProbe(commandId);
  }

  cancelAll(scope: CancelAllScope, word: CancelAllWord): Promise<CancelAllResult> {
    return this.cancelAlls.run(scope, word);
  }

  /** Why `cancelAfter` would be declined just now. */
  refusal(asked: CancelAfter): Declined | undefined {
    return this.cancelTimers.refusal(asked);
  }

  cancelAfter(asked: CancelAfter): Promise<CancelAfterResult> {
    return this.cancelTimers.set(asked);
  }

  async reconcile(options: { readonly accountId?: string; readonly dryRun: boolean }): Promise<ReconcileResult> {
    if (this.leading === undefined) return { kind: 'declined', ...notLeader };
    return { kind: 'done', report: await this.reconciler.reconcile(options) };
  }

  /** The term to send under, or why nothing may be sent. */
  private maySend(): SendingTerm | Declined {
    const { leading } = this;
    const { draining, giveUp, lease } = this.deps;
    if (!this.options.enabled)
      return declined('COMMANDS_OFF', 'commands are off: the service needs TIDEMARK_COMMANDS=on');
    if (draining()) return ending;
    if (leading === undefined || leading.closing || !lease.mayAct()) return anotherLeads;
    const stopped = () => (draining() ? ending : leading.closing ? anotherLeads : undefined);
    return { term: leading.term, giveUp, stopped };
  }

  private trip(accountId: string): void {
    const term = this.leading?.term;
    if (term === undefined) return;
    const { count, windowMs } = this.options.breaker;
    const reason = `${count} places and replaces were asked for within ${windowMs / 1000} s`;
    this.notWaitingFor(this.deps.halts.raise(accountScope(accountId), 'rate', { by: 'tidemark', reason }, term));
  }

  /**
   * A halt holds in memory at once. If the database does not take it now,
   * it is written later (`Halts.keepDurable`).
   */
  private notWaitingFor(raised: Promise<unknown>): void {
    raised.catch((err: unknown) =>
      this.deps.log.warn({ err }, 'a halt could not be written; it holds, and is written later'),
    );
  }
}
