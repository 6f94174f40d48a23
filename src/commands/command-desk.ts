import type { FollowedAccounts } from '../connectors/account-access.ts';
import { isUnresolved } from '../domain/command.ts';
import type { CommittedBatch } from '../domain/committed-batch.ts';
import type { Log } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';
import { Backoff } from '../runtime/backoff.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Lease } from '../runtime/lease.ts';
import type { Random } from '../runtime/random.ts';
import type { Service } from '../runtime/supervisor.ts';
import type { AuditEntry, CommandJournal, Term } from '../store/command-journal.ts';
import type { AccountScope } from '../store/order-reads.ts';
import { AuditTrail } from './audit-trail.ts';
import { awaitCommand } from './await-command.ts';
import { CancelAlls, type CancelAllWord } from './cancel-all.ts';
import { type CancelAfter, CancelTimers } from './cancel-timers.ts';
import { anotherLeads, cancelAllObjection, type Declined, declined, ending } from './check-submission.ts';
import { CommandBook, type SentAndUnresolved } from './command-book.ts';
import { CommandGauges } from './command-gauges.ts';
import type { CommandOptions } from './command-options.ts';
import { CommandSteps } from './command-steps.ts';
import type {
  Allowance,
  CancelAfterResult,
  CancelAllResult,
  CancelAllScope,
  Commands,
  NextProbe,
  ReconcileResult,
  Submission,
  SubmitResult,
} from './commands.ts';
import { HaltWatch } from './halt-watch.ts';
import { accountScope, Halts } from './halts.ts';
import { notLeader, OperatorDesk } from './operator-desk.ts';
import type { OrderEntry, Quotes } from './order-entry.ts';
import { RateBreaker } from './rate-breaker.ts';
import { type Budgets, RateBudget } from './rate-budget.ts';
import { Reconciler } from './reconciler.ts';
import { type Pacing, SendAttempts } from './send-attempts.ts';
import { type SendingTerm, SubmitCommand } from './submit-command.ts';

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
  readonly onStep?: () => void;
}

/** The command side at a glance, for `/status`. */
interface DeskStatus extends SentAndUnresolved {
  readonly enabled: boolean;
  /** This process holds the lane. While it stands by, it does not know which commands are unresolved. */
  readonly leading: boolean;
}

/** How far back a takeover returns commands that are final: one that was not `applied` may have landed while the lane had no holder. */
const takeOverRecentMs = 120_000;
/**
 * How often the journal is asked for the halts, and gets those that it lacks. A process that stands by shows them; one that leads also keeps to those of other
 * lanes.
 */
const lookAtHaltsEveryMs = 5_000;

/**
 * The command side: takes commands, sends them, and follows them until they are settled (docs/settling.md). The parts do the work; this class joins them and
 * keeps the term.
 *
 * States: standing by → leading (between `begin` and `end`) → standing by …; draining, from `drain` on, in both.
 * Invariant: every write and every send belongs to the term under which it began, and none is begun once the term is over or its lease is not certain. While
 * the process stands by, every command is declined before anything happens.
 */
export class CommandDesk implements Commands, Service {
  readonly name = 'commands';
  readonly operator: OperatorDesk;
  private leading: { readonly term: Term; readonly over: AbortController } | undefined;
  private draining = false;
  private readonly giveUp = new AbortController();
  private readonly stopped = new AbortController();
  private readonly book: CommandBook;
  private readonly halts: Halts;
  private readonly haltWatch: HaltWatch;
  private readonly budgets: Budgets;
  private readonly breaker: RateBreaker;
  private readonly steps: CommandSteps;
  private readonly reconciler: Reconciler;
  private readonly submitter: SubmitCommand;
  private readonly cancelAlls: CancelAlls;
  private readonly cancelTimers: CancelTimers;
  private readonly gauges: CommandGauges;
  private readonly auditTrail: AuditTrail;
  private readonly deps: CommandDeskDeps;
  private readonly options: CommandOptions;

  constructor(deps: CommandDeskDeps, options: CommandOptions) {
    this.deps = deps;
    this.options = options;
    const { clock, onStep = () => {} } = deps;
    const book = new CommandBook(clock, options);
    const halts = new Halts(deps);
    const shared = { ...deps, book, halts, onStep };
    this.book = book;
    this.halts = halts;
    this.haltWatch = new HaltWatch(shared, options);
    this.budgets = { places: new RateBudget(clock, options.rate), cancels: new RateBudget(clock, options.cancelRate) };
    this.breaker = new RateBreaker(clock, options.breaker);
    this.steps = new CommandSteps({ ...shared, haltWatch: this.haltWatch }, options);
    this.reconciler = new Reconciler({ ...shared, steps: this.steps }, options);
    this.gauges = new CommandGauges(shared);
    this.auditTrail = new AuditTrail(deps);
    const sender = new SendAttempts({ ...shared, steps: this.steps, budgets: this.budgets }, options);
    this.submitter = new SubmitCommand(
      {
        ...shared,
        sender,
        budgets: this.budgets,
        breaker: this.breaker,
        sweepSoon: () => this.reconciler.sweepSoon(),
        trip: (accountId) => this.trip(accountId),
      },
      options,
    );
    const audit = (entry: Omit<AuditEntry, 'atMs'>) => this.audit(entry);
    const { steps, breaker } = this;
    this.operator = new OperatorDesk({ ...shared, steps, breaker, audit, term: () => this.leading?.term }, options);
    const ofAccounts = {
      ...shared,
      audit,
      maySend: () => this.maySend(),
      objection: (accountId: string) => cancelAllObjection(deps, options, accountId),
    };
    this.cancelAlls = new CancelAlls({ ...ofAccounts, submit: (submission, pacing) => this.submit(submission, pacing) }, options);
    this.cancelTimers = new CancelTimers(
      { ...ofAccounts, cancelAll: (scope, word) => this.cancelAlls.run(scope, word) },
      options,
    );
    book.onChange = (watched, before) => {
      this.gauges.changed(watched, before);
      this.reconciler.changed(watched, before);
    };
  }

  /** Resolves at once. From now on the halts are read; everything else waits for a term. */
  async start(): Promise<void> {
    void this.lookAfterHalts();
  }

  /** The lane is ours: takes over the commands that the former holder left. Rejects when the journal can't be read or written; the lane is then given back. */
  async begin({ epoch }: { readonly epoch: bigint }): Promise<void> {
    await this.end();
    const { journal, clock, log } = this.deps;
    const over = new AbortController();
    const term: Term = { fence: { lane: this.options.lane, epoch }, over: over.signal };
    const atMs = clock.nowMs();
    const taken = await journal.takeOver(term.fence, atMs, takeOverRecentMs);
    await this.halts.load();
    this.leading = { term, over };
    this.reconciler.begin(term, taken);
    this.gauges.begin();
    this.cancelAlls.begin(term);
    this.cancelTimers.begin(term);
    const unresolved = taken.filter(({ state }) => isUnresolved(state));
    if (unresolved.length > 0) log.warn({ commands: unresolved.length }, 'commands of the lane are unresolved');
    const swept = unresolved.filter(({ updatedAtMs }) => updatedAtMs === atMs);
    this.notWaitingFor(this.haltWatch.afterTakeOver(swept, term));
    this.deps.onStep?.();
  }

  /** Another process has the lane, or soon will: nothing more is sent or settled here. Attempts in hand may still add evidence. */
  async end(): Promise<void> {
    this.leading?.over.abort();
    this.leading = undefined;
    this.cancelTimers.end();
    this.cancelAlls.end();
    this.reconciler.end();
    this.book.clear();
    this.gauges.end();
  }

  /** A batch that just committed; see `Reconciler`. */
  followCommitted(batch: CommittedBatch): void {
    this.reconciler.followCommitted(batch);
  }

  /** Batches were committed that can't be handed over. */
  missedCommitted(): void {
    this.reconciler.missedCommitted();
  }

  /** Takes no more commands and finishes those in hand; once the signal aborts, it leaves them to the journal. */
  async drain(signal: AbortSignal): Promise<void> {
    this.draining = true;
    this.stopped.abort();
    await this.submitter.drained(signal);
    this.giveUp.abort();
    if (!signal.aborted) await this.auditTrail.drained();
  }

  async submit(submission: Submission, pacing?: Pacing): Promise<SubmitResult> {
    const under = this.maySend();
    if ('code' in under) return this.submitter.replayOr(submission, under);
    const result = await this.submitter.submit(submission, under, pacing);
    const { request, principal, requestId } = submission;
    const { kind: action, accountId } = request;
    if (result.kind === 'journaled' && !result.replayed)
      this.audit({ principal, action, accountId, commandId: result.command.commandId, requestId });
    return result;
  }

  wait(commandId: string, waitMs: number) {
    return awaitCommand({ ...this.deps, book: this.book }, commandId, waitMs);
  }

  /** Its figures are those of the accounts of the scope alone. */
  status(scope: AccountScope = { kind: 'all' }): DeskStatus {
    return { enabled: this.options.enabled, leading: this.leading !== undefined, ...this.book.sentAndUnresolved(scope) };
  }

  nextProbe(commandId: string): NextProbe | undefined {
    return this.leading === undefined ? undefined : this.reconciler.nextProbe(commandId);
  }

  cancelAll(scope: CancelAllScope, word: CancelAllWord): Promise<CancelAllResult> {
    return this.cancelAlls.run(scope, word);
  }

  cancelAfter(asked: CancelAfter): Promise<CancelAfterResult> {
    return this.cancelTimers.set(asked);
  }

  async reconcile(options: { readonly accountId?: string; readonly dryRun: boolean }): Promise<ReconcileResult> {
    if (this.leading === undefined) return { kind: 'declined', ...notLeader };
    return { kind: 'done', report: await this.reconciler.reconcile(options) };
  }

  allowance(accountId: string): Allowance {
    return this.budgets.places.allowance(accountId);
  }

  /** The term to send under, or why nothing may be sent. */
  private maySend(): SendingTerm | Declined {
    const { leading, giveUp } = this;
    if (!this.options.enabled) return declined('COMMANDS_OFF', 'commands are turned off (TIDEMARK_COMMANDS)');
    if (this.draining) return ending;
    if (leading === undefined || !this.deps.lease.mayAct()) return anotherLeads;
    return { term: leading.term, giveUp: giveUp.signal, draining: () => this.draining };
  }

  private trip(accountId: string): void {
    const term = this.leading?.term;
    if (term === undefined) return;
    const { count, windowMs } = this.options.breaker;
    const reason = `${count} places and replaces were asked for within ${windowMs / 1000} s`;
    this.notWaitingFor(this.halts.raise(accountScope(accountId), 'rate', { by: 'tidemark', reason }, term));
  }

  /** A halt holds in memory at once. If the database does not take it now, `lookAfterHalts` writes it later. */
  private notWaitingFor(raised: Promise<unknown>): void {
    raised.catch((err: unknown) => this.deps.log.warn({ err }, 'a halt could not be written; it holds, and is written later'));
  }

  private async lookAfterHalts(): Promise<void> {
    const { halts } = this;
    const { clock, random } = this.deps;
    const backoff = new Backoff(random, this.options.journalBackoff);
    while (!this.stopped.signal.aborted) {
      const { leading } = this;
      const still = () => this.leading === leading;
      const look = halts.keepDurable(leading?.term).then(() => halts.refresh(still));
      await look.catch(() => undefined);
      if (!halts.lacksOne) backoff.reset();
      await clock.sleep(halts.lacksOne ? backoff.nextMs() : lookAtHaltsEveryMs, this.stopped.signal);
    }
  }

  private audit(entry: Omit<AuditEntry, 'atMs'>): void {
    this.auditTrail.record({ atMs: this.deps.clock.nowMs(), ...entry });
  }
}
