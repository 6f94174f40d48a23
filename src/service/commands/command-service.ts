import type { Command } from '../../domain/command.ts';
import type { CommittedBatch } from '../../domain/committed-batch.ts';
import type { Tracing } from '../../observability/tracing.ts';
import type { Service } from '../../runtime/supervisor.ts';
import type { Halt } from '../../store/commands/halts-journal.ts';
import type { Term } from '../../store/commands/term.ts';
import type { ReadIfChanged } from '../../store/fleet/changes.ts';
import type { HeldShard } from '../../store/fleet/shard-store.ts';
import type { AccountScope } from '../../store/orders/order-reads.ts';
import { Window } from '../sources/window.ts';
import { type Answer, anotherLeads, declined, ending } from './answer.ts';
import { AuditTrail } from './audit-trail.ts';
import { awaitCommand } from './await-command.ts';
import { CancelAlls } from './cancel-all/cancel-all.ts';
import { CancelTimers } from './cancel-all/cancel-timers.ts';
import { cancelAllObjection } from './check-submission.ts';
import { CommandBook, type SentAndUnresolved } from './command-book.ts';
import { CommandGauges } from './command-gauges.ts';
import type { CommandOptions } from './command-options.ts';
import type { CommandParts, GivenParts } from './command-parts.ts';
import { CommandSteps, type MadeStep } from './command-steps.ts';
import type {
  CancelAfter,
  CancelAll,
  CancelAllScope,
  CancelAllWord,
  Commands,
  Journaled,
  NextProbe,
  OpenCommands,
  Preview,
  PreviewAsked,
  Probed,
  Submission,
  TimersSet,
} from './commands.ts';
import { Halts } from './halts.ts';
import { UnseenOrders } from './look-at-order.ts';
import { OperatorService } from './operator-service.ts';
import { cancelAfterOfShards, cancelAllOfShards } from './over-shards.ts';
import { PlacesUnderWay } from './places-under-way.ts';
import { previewCommand } from './preview-command.ts';
import { ProbeBudget } from './probe-budget.ts';
import { RateBreaker } from './rate-breaker.ts';
import { type BucketOptions, RateBudget } from './rate-budget.ts';
import { Resolver } from './resolver.ts';
import { type Pacing, SendAttempts } from './send-attempts.ts';
import { ShardTerm } from './shard-term.ts';
import { SubmitCommand } from './submit-command.ts';
import { CommandTraces } from './trace-commands.ts';
import { isFollowed } from './watched.ts';

interface CommandServiceDeps extends GivenParts {
  /** An account's shard. */
  readonly shardOf: (accountId: string) => number;
  /**
   * How much this process holds now, from 0 to 1: its part in the budgets shared by all accounts.
   * Left out: all.
   */
  readonly part?: () => number;
  /** See `Halts`. */
  readonly haltChanges?: ReadIfChanged;
  /** Steps were just committed, and their events are in the outbox. Never waits, never throws. */
  readonly onStep?: (made?: MadeStep) => void;
  readonly tracing?: Tracing | undefined;
}

/** The command side at a glance, for `/status`. */
interface CommandsStatus extends SentAndUnresolved {
  readonly enabled: boolean;
  /** This process holds a shard. In the others it does not know the unresolved commands. */
  readonly leading: boolean;
}

/** Account reads all cancel-alls make side by side, before their first cancel. */
const listReadsAtOnce = 32;
/** Commands in one read of those that are open. */
const openPageSize = 1_000;

/**
 * The process's command side: all there is once, and a term for each held shard (`ShardTerm`). A
 * request is carried out under its account's shard's term. Without one it is declined at once, with
 * `NOT_LEADER` and before anything happens, or answered with its key's command, if known. Nothing
 * here waits for a shard: REST does (`instances/forwarding.ts`).
 *
 * Shards come and go one by one (`begin`, `quiesce`, `end`). An attempt in hand needs its
 * turn, and its order's line for cancels: these outlive its term, and a shard coming back finds
 * them. Invariant: two terms never have an account in common.
 */
export class CommandService implements Commands, Service {
  readonly name = 'commands';
  readonly operator: OperatorService;
  private readonly terms = new Map<number, ShardTerm>();
  private readonly held = new Map<number, Term>();
  private draining = false;
  private readonly giveUp = new AbortController();
  private readonly stopped = new AbortController();
  private readonly book: CommandBook;
  private readonly halts: Halts;
  readonly placeBudget: RateBudget;
  private readonly budgets: CommandParts['budgets'];
  private readonly gauges: CommandGauges;
  private readonly auditTrail: AuditTrail;
  private readonly record: CommandParts['record'];
  private readonly submitter: SubmitCommand;
  private readonly cancelAlls: CancelAlls;
  private readonly timers: CancelTimers;
  private readonly resolver: Resolver;
  private readonly shared: ConstructorParameters<typeof ShardTerm>[0];
  private readonly deps: CommandServiceDeps;
  private readonly options: CommandOptions;

  constructor(given: CommandServiceDeps, options: CommandOptions) {
    const traces = given.tracing && new CommandTraces(given.tracing);
    const deps = traces?.around(given) ?? given;
    this.deps = deps;
    this.options = options;
    const { clock, onStep = () => {} } = deps;
    const book = new CommandBook(clock, options);
    const halts = new Halts(deps);
    this.book = book;
    this.halts = halts;
    const budget = (of: BucketOptions) => new RateBudget(clock, of);
    this.placeBudget = budget(options.rate);
    this.budgets = {
      places: this.placeBudget,
      cancels: budget(options.cancelRate),
      previews: budget(options.rate),
    };
    this.gauges = new CommandGauges({ ...deps, book });
    this.auditTrail = new AuditTrail(deps);
    const breaker = new RateBreaker(clock, options.breaker);
    this.record = (entry) => this.auditTrail.record({ atMs: clock.nowMs(), ...entry });
    const termFor = (scope: Halt['scope']) => this.termFor(scope);
    const steps = new CommandSteps({ ...deps, book, halts, onStep }, options);
    const probes = new ProbeBudget(clock, options.probes, deps.part);
    const { held, budgets } = this;
    const parts = {
      ...{ ...deps, held, book, steps, halts, budgets, breaker, record: this.record },
      ...{ stopped: this.stopped.signal, placesUnderWay: new PlacesUnderWay() },
    };
    this.resolver = new Resolver({ ...parts, probes }, options);
    book.onChange = (watched, before) => {
      this.gauges.changed(watched, before);
      this.resolver.changed(watched, before);
    };
    this.operator = new OperatorService({ ...parts, termFor }, options);
    const sender = new SendAttempts(parts, options);
    const unseen = new UnseenOrders(deps, options);
    const { sweep } = this.resolver;
    const trip = (accountId: string) => this.trip(accountId);
    const submitter = new SubmitCommand({ ...parts, sender, unseen, sweep, trip, onStep }, options);
    this.submitter = traces?.aroundSubmit(submitter) ?? submitter;
    const ofAccounts = {
      ...parts,
      maySend: (shard: number) => this.maySend(shard),
      objection: (accountId: string) => cancelAllObjection(deps, options, accountId),
    };
    const submit = (submission: Submission, pacing?: Pacing) => this.submit(submission, pacing);
    this.cancelAlls = new CancelAlls({ ...ofAccounts, submit, listWindow: new Window(listReadsAtOnce) }, options);
    const { gauges, resolver, cancelAlls } = this;
    this.timers = new CancelTimers({ ...ofAccounts, cancelAlls });
    const { timers } = this;
    this.shared = {
      ...{ ...parts, onStep, gauges, resolver, cancelAlls, timers },
      draining: () => this.draining,
      giveUp: this.giveUp.signal,
    };
  }

  /** Resolves at once. From now on the halts are read; everything else waits for a shard. */
  async start(): Promise<void> {
    void this.halts.keepUp(this.stopped.signal);
  }

  /**
   * Takes over the commands that the shard's former holder left. Rejects when the journal can't be
   * read or written; then it may be tried again.
   */
  async begin(held: HeldShard): Promise<void> {
    const { shard } = held;
    this.stop(shard);
    const term = new ShardTerm(this.shared, held, this.options);
    this.terms.set(shard, term);
    await term.begin();
  }

  /**
   * The shard is about to be given away: from now on its accounts' new commands are declined, with
   * `NOT_LEADER`. Resolves when no attempt is in hand any more, or the signal aborts; `end` has to
   * follow.
   */
  async quiesce(shard: number, signal: AbortSignal): Promise<void> {
    this.terms.get(shard)?.close();
    await this.submitter.drained(signal, shard);
  }

  /**
   * Another process has the shard, or soon will: nothing more of it is sent or resolved here.
   * Attempts in hand may still add evidence.
   */
  end(shard: number): void {
    this.stop(shard);
    if (this.held.size > 0) return;
    this.resolver.sweep.end();
    this.gauges.end();
    this.book.overflow(false);
  }

  /** The lane is lost, and all its shards with it. */
  endAll(): void {
    for (const shard of [...this.terms.keys()]) this.end(shard);
  }

  /** A batch that just committed. Never waits, never fails. */
  followCommitted({ rows }: CommittedBatch): void {
    for (const row of rows)
      if (row.topic === 'updates' && (row.commandId !== undefined || this.book.size > 0)) this.resolver.follow(row);
  }

  /** Batches were committed that can't be handed over. */
  missedCommitted(): void {
    this.resolver.fallBehind([...this.book.all()]);
  }

  /**
   * Takes no more commands and finishes those in hand; once the
   * signal aborts, it leaves them to the journal.
   */
  async drain(signal: AbortSignal): Promise<void> {
    this.draining = true;
    for (const term of this.terms.values()) term.close();
    this.deps.journal.hurry();
    await this.submitter.drained(signal);
    // Attempts in hand ask for the halts until they have ended.
    this.stopped.abort();
    this.giveUp.abort();
    if (!signal.aborted) await this.auditTrail.drained();
  }

  async submit(submission: Submission, pacing?: Pacing): Promise<Answer<Journaled>> {
    const { request, principal, requestId } = submission;
    const { kind: action, accountId } = request;
    const shard = this.deps.shardOf(accountId);
    const under = this.maySend(shard);
    if ('code' in under) return this.submitter.replayOr(submission, under);
    const result = await this.submitter.submit(submission, under, pacing);
    if (result.kind === 'journaled' && !result.replayed)
      this.record({ principal, action, accountId, commandId: result.command.commandId, requestId });
    return result;
  }

  async preview(asked: PreviewAsked): Promise<Answer<Preview>> {
    const under = this.maySend(this.deps.shardOf(asked.request.accountId));
    if ('code' in under) return under;
    const { deps, book, halts, budgets } = this;
    return previewCommand({ ...deps, book, halts, budgets }, this.options, asked);
  }

  wait(commandId: string, waitMs: number) {
    return awaitCommand({ ...this.deps, book: this.book }, commandId, waitMs);
  }

  /** Its figures are for the scope's accounts alone. */
  status(scope: AccountScope = { kind: 'all' }): CommandsStatus {
    return { enabled: this.options.enabled, leading: this.held.size > 0, ...this.book.sentAndUnresolved(scope) };
  }

  nextProbe(commandId: string): NextProbe | undefined {
    const entry = this.book.get(commandId);
    return entry && this.resolver.watch.nextProbe(entry);
  }

  async cancelAll(scope: CancelAllScope, word: CancelAllWord): Promise<Answer<CancelAll>> {
    if (scope.kind === 'account') return this.cancelAlls.run(this.deps.shardOf(scope.accountId), scope, word);
    const parts = Map.groupBy(scope.accountIds, this.deps.shardOf);
    // Held shards without accounts, too: each remembers the key, and must not cover accounts coming
    // later.
    for (const shard of this.held.keys()) if (!parts.has(shard)) parts.set(shard, []);
    const answers = [...parts].map(async ([shard, accountIds]) => {
      return { accountIds, result: await this.cancelAlls.run(shard, { ...scope, accountIds }, word) };
    });
    return cancelAllOfShards(await Promise.all(answers));
  }

  async cancelAfter(asked: CancelAfter): Promise<Answer<TimersSet>> {
    const wanted = [...Map.groupBy(asked.accountIds, this.deps.shardOf)].flatMap(([shard, of]) => {
      const under = this.maySend(shard);
      const accountIds = 'code' in under ? of : this.timers.meant(shard, { ...asked, accountIds: of });
      return accountIds.length === 0 ? [] : [{ shard, accountIds }];
    });
    if (wanted.length === 0) return { kind: 'done', accountIds: [], declined: [] };
    // Nothing is set where one of the accounts may have no timer at all.
    for (const { accountIds, shard } of wanted) {
      const refusal = this.timers.refusal(shard, { ...asked, accountIds });
      if (refusal !== undefined && refusal.code !== 'NOT_LEADER') return refusal;
    }
    const answers = wanted.map(async ({ accountIds, shard }) => {
      return { accountIds, result: await this.timers.set(shard, { ...asked, accountIds }) };
    });
    return cancelAfterOfShards(await Promise.all(answers));
  }

  async probeNow(options: { readonly accountId?: string; readonly dryRun: boolean }): Promise<Answer<Probed>> {
    const { accountId } = options;
    const isHeld = accountId === undefined ? this.held.size > 0 : this.held.has(this.deps.shardOf(accountId));
    if (!isHeld) return anotherLeads;
    return { kind: 'done', report: await this.resolver.probe(options) };
  }

  /** From the journal: a shard between two holders is in no process's memory. */
  async openCommands(): Promise<Answer<OpenCommands>> {
    const { journal, clock, log } = this.deps;
    const atMs = clock.nowMs();
    const open: Command[] = [];
    let after: Command | undefined;
    try {
      do {
        const page = await journal.unresolved(openPageSize, after);
        open.push(...page.filter((command) => command.state === 'open' || isFollowed(command)));
        after = page.length < openPageSize ? undefined : page.at(-1);
        // What is journaled from now on was not open when it was asked.
      } while (after !== undefined && after.createdAtMs <= atMs);
    } catch (err) {
      log.warn({ err }, 'open commands could not be read');
      return declined('STORE_UNAVAILABLE', 'the open commands could not be read: ask again');
    }
    const commands = open.map(({ commandId, request: { accountId } }) => ({ commandId, accountId }));
    return { kind: 'done', commands };
  }

  /** The term to send under, or why nothing may be sent. */
  private maySend(shard: number): Answer<ShardTerm> {
    if (!this.options.enabled)
      return declined('COMMANDS_OFF', 'commands are off: the service needs TIDEMARK_COMMANDS=on');
    if (this.draining) return ending;
    const term = this.terms.get(shard);
    return term?.isOpen && this.deps.lease.mayAct() ? term : anotherLeads;
  }

  private stop(shard: number): void {
    this.terms.get(shard)?.end();
    this.terms.delete(shard);
  }

  private trip(accountId: string): void {
    if (this.halts.blocking(accountId) !== undefined) return;
    const { count, windowMs } = this.options.breaker;
    const reason = `${count} places and replaces were asked for within ${windowMs / 1000} s`;
    this.halts
      .raise({ kind: 'account', accountId }, 'rate', { by: 'tidemark', reason })
      .catch((err: unknown) =>
        this.deps.log.warn({ err }, 'a halt could not be written; it holds, and is written later'),
      );
  }

  /** The term to clear this scope's halts under: for an account its holder's, otherwise any. */
  private termFor(scope: Halt['scope']): Term | undefined {
    if (scope.kind === 'account') return this.held.get(this.deps.shardOf(scope.accountId));
    const [any] = this.held.values();
    return any;
  }
}
