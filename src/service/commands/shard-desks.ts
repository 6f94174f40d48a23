import type { CommittedBatch, LogRow } from '../../domain/committed-batch.ts';
import type { Log } from '../../observability/log.ts';
import type { Metrics } from '../../observability/metrics.ts';
import type { Tracing } from '../../observability/tracing.ts';
import { Backoff } from '../../runtime/backoff.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Lease } from '../../runtime/lease.ts';
import type { Random } from '../../runtime/random.ts';
import type { Service } from '../../runtime/supervisor.ts';
import type { AuditEntry, CommandJournal, Halt, Term } from '../../store/commands/command-journal.ts';
import type { HeldShard } from '../../store/fleet/shard-store.ts';
import type { AccountScope } from '../../store/orders/order-reads.ts';
import type { FollowedAccounts } from '../sources/account-access.ts';
import { Window } from '../sources/window.ts';
import { AuditTrail } from './audit-trail.ts';
import { awaitCommand } from './await-command.ts';
import type { CancelAllWord } from './cancel-all/cancel-all.ts';
import type { CancelAfter } from './cancel-all/cancel-timers.ts';
import { CommandBooks, type SentAndUnresolved } from './command-books.ts';
import { CommandDesk } from './command-desk.ts';
import { CommandGauges } from './command-gauges.ts';
import type { CommandOptions } from './command-options.ts';
import type {
  Allowance,
  CancelAfterResult,
  CancelAllResult,
  CancelAllScope,
  Commands,
  NextProbe,
  PlaceAsked,
  PreviewResult,
  ReconcileResult,
  Submission,
  SubmitResult,
} from './commands.ts';
import { HaltAgreement } from './halt-agreement.ts';
import { HaltWatch } from './halt-watch.ts';
import { Halts } from './halts.ts';
import { UnseenOrders } from './look-at-order.ts';
import { notLeader, OperatorDesk } from './operator-desk.ts';
import type { OrderEntry, Quotes } from './order-entry.ts';
import { mergeCancelAfters, mergeCancelAlls, mergeReports } from './over-shards.ts';
import { ProbeBudget } from './probe-budget.ts';
import { RateBreaker } from './rate-breaker.ts';
import { type BucketOptions, type Budgets, RateBudget } from './rate-budget.ts';
import { Takeovers } from './takeovers.ts';

interface ShardDesksDeps {
  readonly journal: CommandJournal;
  readonly entry: OrderEntry;
  readonly accounts: FollowedAccounts;
  readonly quotes: Quotes;
  /** The shard of an account. */
  readonly shardOf: (accountId: string) => number;
  /**
   * How much of the shards this process holds now, from 0 to 1: its part of the budgets that are
   * not an account's. Left out: all.
   */
  readonly part?: () => number;
  readonly lease: Lease;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: Metrics['commands'];
  readonly log: Log;
  /** A step was just committed, and its event is in the outbox. Never waits, never throws. */
  readonly onStep?: () => void;
  readonly tracing?: Tracing | undefined;
}

/** The command side at a glance, for `/status`. */
interface DesksStatus extends SentAndUnresolved {
  readonly enabled: boolean;
  /**
   * This process holds a shard. Of those that it does not hold, it
   * does not know which commands are unresolved.
   */
  readonly leading: boolean;
}

/**
 * How often the journal is asked for the halts, and gets those that it lacks. A process that holds
 * nothing shows them; the others keep to those of all. The answer to a halt waits for it; the table
 * is small and the statement takes some 0.1 ms. Not by NOTIFY: each process would need one more
 * session, which poolers take away, and a look beside it.
 */
const lookAtHaltsEveryMs = 500;
/** Reads of accounts that all cancel-alls make side by side, before their first cancel. */
const listReadsAtOnce = 32;

/**
 * The command side of the process: a desk for each shard, and all that there is once. A request
 * goes to the desk of its account's shard, and waits while that is being taken over (`Takeovers`).
 * A shard that is not held answers as a desk that stands by: declined, or with the command of a key
 * that is known.
 *
 * Shards come and go one by one (`expect`, `begin`, `quiesce`, `end`). A desk stays when its
 * shard has gone: attempts in hand end in it, and a shard that comes back finds
 * the turns of its accounts and orders there.
 * Invariant: the accounts of two desks are never the same, so whatever is counted for an account is
 * counted at one desk; whatever is counted for the service is counted here, over all desks.
 */
export class ShardDesks implements Commands, Service {
  readonly name = 'commands';
  readonly operator: OperatorDesk;
  private readonly desks = new Map<number, CommandDesk>();
  private draining = false;
  private readonly giveUp = new AbortController();
  private readonly stopped = new AbortController();
  private readonly books: CommandBooks;
  private readonly halts: Halts;
  private readonly agreement: HaltAgreement;
  private readonly budgets: Budgets;
  private readonly gauges: CommandGauges;
  private readonly auditTrail: AuditTrail;
  private readonly takeovers: Takeovers;
  private readonly make: (shard: number) => CommandDesk;
  private readonly deps: ShardDesksDeps;
  private readonly options: CommandOptions;

  constructor(deps: ShardDesksDeps, options: CommandOptions) {
    this.deps = deps;
    this.options = options;
    const { clock, onStep = () => {} } = deps;
    const books = new CommandBooks(clock);
    const halts = new Halts(deps);
    this.books = books;
    this.halts = halts;
    const agreement = new HaltAgreement({ ...deps, halts }, options);
    this.agreement = agreement;
    const budget = (of: BucketOptions) => new RateBudget(clock, of);
    this.budgets = {
      places: budget(options.rate),
      cancels: budget(options.cancelRate),
      previews: budget(options.rate),
    };
    this.gauges = new CommandGauges({ ...deps, books });
    this.auditTrail = new AuditTrail(deps);
    const breaker = new RateBreaker(clock, options.breaker);
    const audit = (entry: Omit<AuditEntry, 'atMs'>) => this.auditTrail.record({ atMs: clock.nowMs(), ...entry });
    this.takeovers = new Takeovers(clock, options);
    const termFor = (scope: Halt['scope']) => this.termToClear(scope);
    const holdingOf = (shard: number) => this.at(shard, async ({ holding }) => holding);
    this.operator = new OperatorDesk({ ...deps, halts, agreement, breaker, audit, termFor, holdingOf }, options);
    const shared = {
      ...{ ...deps, onStep, books, halts, breaker, audit },
      haltWatch: new HaltWatch({ halts, books }, options),
      budgets: this.budgets,
      gauges: this.gauges,
      probes: new ProbeBudget(clock, options.probes, deps.part),
      unseen: new UnseenOrders(deps, options),
      listWindow: new Window(listReadsAtOnce),
      draining: () => this.draining,
      giveUp: this.giveUp.signal,
    };
    this.make = (shard) => new CommandDesk(shared, { ...options, shard });
  }

  /** Resolves at once. From now on the halts are read; everything else waits for a shard. */
  async start(): Promise<void> {
    void this.lookAfterHalts();
  }

  /** The shard is ours, and `begin` or `end` follows: requests for it wait until then. */
  expect(shard: number): void {
    if (!this.draining) this.takeovers.begin(shard);
  }

  /**
   * Takes over the commands that the shard's former holder left. Rejects when the journal can't be
   * read or written; then it may be tried again.
   */
  async begin({ shard, epoch }: HeldShard): Promise<void> {
    const desk = this.desk(shard);
    await desk.begin(epoch);
    if (desk.holding !== undefined) this.takeovers.end(shard);
  }

  /**
   * The shard is about to be given away: new commands of its accounts are declined
   * from now on, with `NOT_LEADER`. Resolves when no attempt of it is in hand any
   * more, or the signal aborts; `end` has to follow.
   */
  async quiesce(shard: number, signal: AbortSignal): Promise<void> {
    this.takeovers.end(shard);
    await this.desks.get(shard)?.quiesce(signal);
  }

  /**
   * Another process has the shard, or soon will: nothing more of it is sent or settled here.
   * Attempts in hand may still add evidence.
   */
  end(shard: number): void {
    this.takeovers.end(shard);
    this.desks.get(shard)?.end();
    if (this.held.length === 0) this.gauges.end();
  }

  /** The lane is lost, and all its shards with it. */
  endAll(): void {
    this.takeovers.endAll();
    for (const shard of this.desks.keys()) this.end(shard);
  }

  /** A batch that just committed. Never waits, never fails. */
  followCommitted({ rows }: CommittedBatch): void {
    for (const row of rows) if (row.topic === 'updates') this.follow(row);
  }

  /** Batches were committed that can't be handed over. */
  missedCommitted(): void {
    for (const desk of this.desks.values()) desk.missedCommitted();
  }

  /**
   * Takes no more commands and finishes those in hand; once the
   * signal aborts, it leaves them to the journal.
   */
  async drain(signal: AbortSignal): Promise<void> {
    this.draining = true;
    this.takeovers.endAll();
    await Promise.all([...this.desks.values()].map((desk) => desk.drained(signal)));
    // Attempts in hand ask for the halts until they have ended.
    this.stopped.abort();
    this.giveUp.abort();
    if (!signal.aborted) await this.auditTrail.drained();
  }

  submit(submission: Submission): Promise<SubmitResult> {
    return this.atHolder(submission.request.accountId, (desk) => desk.submit(submission));
  }

  preview(asked: PlaceAsked): Promise<PreviewResult> {
    return this.atHolder(asked.request.accountId, (desk) => desk.preview(asked));
  }

  wait(commandId: string, waitMs: number) {
    return awaitCommand({ ...this.deps, books: this.books }, commandId, waitMs);
  }

  /** Its figures are those of the accounts of the scope alone. */
  status(scope: AccountScope = { kind: 'all' }): DesksStatus {
    return { enabled: this.options.enabled, leading: this.held.length > 0, ...this.books.sentAndUnresolved(scope) };
  }

  nextProbe(commandId: string): NextProbe | undefined {
    for (const desk of this.desks.values()) {
      const probe = desk.nextProbe(commandId);
      if (probe !== undefined) return probe;
    }
    return undefined;
  }

  async cancelAll(scope: CancelAllScope, word: CancelAllWord): Promise<CancelAllResult> {
    if (scope.kind === 'account') return this.atHolder(scope.accountId, (desk) => desk.cancelAll(scope, word));
    const parts = Map.groupBy(scope.accountIds, this.deps.shardOf);
    // Held shards without accounts, too: each remembers the key, which must not cover the orders of
    // accounts that come later.
    for (const shard of this.ours) if (!parts.has(shard)) parts.set(shard, []);
    const answers = [...parts].map(async ([shard, accountIds]) => {
      return { accountIds, result: await this.at(shard, (desk) => desk.cancelAll({ ...scope, accountIds }, word)) };
    });
    return mergeCancelAlls(await Promise.all(answers));
  }

  async cancelAfter(asked: CancelAfter): Promise<CancelAfterResult> {
    const wanted = [...Map.groupBy(asked.accountIds, this.deps.shardOf)];
    const parts = await Promise.all(
      wanted.map(([shard, accountIds]) => this.at(shard, async (desk) => ({ desk, accountIds }))),
    );
    // Nothing is set where one of the accounts may have no timer at all.
    const refusals = parts.map(({ desk, accountIds }) => desk.refusal({ ...asked, accountIds }));
    const refused = refusals.find((each) => each !== undefined && each.code !== 'NOT_LEADER');
    if (refused !== undefined) return refused;
    const answers = parts.map(async ({ desk, accountIds }) => {
      return { accountIds, result: await desk.cancelAfter({ ...asked, accountIds }) };
    });
    return mergeCancelAfters(await Promise.all(answers));
  }

  async reconcile(options: { readonly accountId?: string; readonly dryRun: boolean }): Promise<ReconcileResult> {
    if (options.accountId !== undefined) return this.atHolder(options.accountId, (desk) => desk.reconcile(options));
    const results = await Promise.all([...this.ours].map((shard) => this.at(shard, (desk) => desk.reconcile(options))));
    const reports = results.flatMap((result) => (result.kind === 'done' ? [result.report] : []));
    return reports.length === 0 ? { kind: 'declined', ...notLeader } : { kind: 'done', report: mergeReports(reports) };
  }

  allowance(accountId: string): Allowance {
    return this.budgets.places.allowance(accountId);
  }

  private get held(): CommandDesk[] {
    return [...this.desks.values()].filter(({ holding }) => holding !== undefined);
  }

  /** The shards that are held, also those whose takeover is under way. */
  private get ours(): ReadonlySet<number> {
    const held = [...this.desks].flatMap(([shard, { holding }]) => (holding === undefined ? [] : [shard]));
    return new Set([...held, ...this.takeovers.shards]);
  }

  private atHolder<T>(accountId: string, work: (desk: CommandDesk) => Promise<T>): Promise<T> {
    return this.at(this.deps.shardOf(accountId), work);
  }

  /** Every request for a shard comes through here, and waits while the shard is being taken over. */
  private at<T>(shard: number, work: (desk: CommandDesk) => Promise<T>): Promise<T> {
    const desk = this.desk(shard);
    return this.takeovers.ended(shard)?.then(() => work(desk)) ?? work(desk);
  }

  private desk(shard: number): CommandDesk {
    const known = this.desks.get(shard);
    if (known !== undefined) return known;
    const made = this.make(shard);
    this.desks.set(shard, made);
    return made;
  }

  private follow(row: LogRow): void {
    const { accountId, commandId, bound } = row;
    if (commandId === undefined && this.books.watched === 0) return;
    // An order with the reference of a command of another account concerns the desk of that
    // command, which the row does not name.
    if (accountId === undefined || bound?.matches === false) for (const desk of this.desks.values()) desk.follow(row);
    else this.desks.get(this.deps.shardOf(accountId))?.follow(row);
  }

  /**
   * That of the account's shard, where it is held; otherwise any: a halt is the journal's, and its
   * holder gets it within seconds.
   */
  private termFor(scope: Halt['scope']): Term | undefined {
    const own = scope.kind === 'account' ? this.desks.get(this.deps.shardOf(scope.accountId))?.holding : undefined;
    return (own ?? this.held[0]?.holding)?.term;
  }

  private async termToClear(scope: Halt['scope']): Promise<Term | undefined> {
    const shards = scope.kind === 'account' ? [this.deps.shardOf(scope.accountId)] : this.takeovers.shards;
    const takeovers = shards.flatMap((shard) => this.takeovers.ended(shard) ?? []);
    if (takeovers.length > 0 && this.termFor(scope) === undefined) await Promise.race(takeovers);
    return this.termFor(scope);
  }

  private async lookAfterHalts(): Promise<void> {
    const { halts } = this;
    const { clock, random } = this.deps;
    const backoff = new Backoff(random, this.options.journalBackoff);
    while (!this.stopped.signal.aborted) {
      const look = halts.keepDurable((scope) => this.termFor(scope)).then(() => halts.refresh());
      await look.then(() => this.agreement.sayHeld()).catch(() => undefined);
      if (!halts.lacksOne) backoff.reset();
      await clock.sleep(halts.lacksOne ? backoff.nextMs() : lookAtHaltsEveryMs, this.stopped.signal);
    }
  }
}
