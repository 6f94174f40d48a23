import { type Command, isFinal, isUnresolved, type ResultWord } from '../../domain/command.ts';
import type { LogRow } from '../../domain/committed-batch.ts';
import { decodeUpdate } from '../../domain/encode-update.ts';
import { orderKey, type Stream } from '../../domain/order.ts';
import { lastPossibleSendMs } from '../../domain/presumed-absent.ts';
import type { ResolvingUpdate } from '../../domain/resolving.ts';
import { inParallel } from '../../runtime/waiting.ts';
import type { Term } from '../../store/commands/term.ts';
import type { LookSince } from '../sources/account-access.ts';
import { AccountReads } from './account-reads.ts';
import type { CommandOptions } from './command-options.ts';
import type { CommandParts } from './command-parts.ts';
import type { ProbeReport } from './commands.ts';
import { countMisses } from './count-misses.ts';
import { catchUp, takeBound, takeUpdate } from './follow-orders.ts';
import { JournalSweep, sweepLandings } from './journal-sweep.ts';
import { lookAfterRefusal, lookAtElder, lookForSuccessor } from './look-at-order.ts';
import { OrphanOrders } from './orphan-orders.ts';
import type { ProbeBudget } from './probe-budget.ts';
import { type CompleteProbe, ProbeWatch } from './probe-watch.ts';
import { ResolveWatched } from './resolve-watched.ts';
import { isFollowed, noteStillEnded, type Watched } from './watched.ts';

interface ResolverDeps extends CommandParts {
  readonly probes: ProbeBudget;
}

/** Commands judged side by side after one read: each may be a transaction. */
const judgedAtOnce = 8;
const longestAgeMs = 365 * 86_400_000;

/**
 * Finds out command results: first from the batches ingest commits; without news there, by reads
 * on a schedule. It never sends anything.
 *
 * Invariant: every command in the held shards is followed here, from `begin` until it is final or
 * its term is over, or counted as not fitting and taken up when there is room. Verdicts are pure
 * domain functions over committed data, and written under the fence of the command's own term; a
 * failed or short read changes nothing.
 */
export class Resolver {
  private readonly resolving: ResolveWatched;
  private readonly reads: AccountReads;
  readonly watch: ProbeWatch;
  private readonly orphans: OrphanOrders;
  private readonly looks: Parameters<typeof lookAtElder>[0];
  readonly sweep: JournalSweep;
  private readonly deps: ResolverDeps;
  private readonly options: CommandOptions;

  constructor(deps: ResolverDeps, options: CommandOptions) {
    this.deps = deps;
    this.options = options;
    const onLookForSuccessor = (entry: Watched, reference: string | undefined) =>
      void lookForSuccessor(this.looks, entry, reference);
    const onSecondOrder = (entry: Watched) => void lookAtElder(this.looks, entry);
    const oldestSend = (stream: Stream, accountId: string) => this.oldestSend(stream, accountId);
    this.reads = new AccountReads({ ...deps, oldestSend }, options);
    this.resolving = new ResolveWatched({ ...deps, onLookForSuccessor, onSecondOrder }, options);
    this.watch = new ProbeWatch(
      { ...deps, reads: this.reads, judge: (entries, probe) => this.judge(entries, probe) },
      options,
    );
    this.looks = { ...deps, reads: this.reads, resolve: (entry) => this.resolving.resolve(entry) };
    this.orphans = new OrphanOrders(
      { ...deps, resolving: this.resolving, adopt: (command, term) => this.adopt(command, term, false) },
      options,
    );
    this.sweep = new JournalSweep({ ...deps, adopt: (command, term) => this.adopt(command, term, true) }, options);
    deps.book.onLeave = (entry) => this.watch.forget(entry);
    deps.book.onRival = (entry, rivalId, has) => this.rival(entry, rivalId, has);
  }

  /**
   * The term's shard is ours, and its commands are those of `taken`, which the takeover returned.
   * Returns at once: each command is judged as soon as the journal can be read.
   */
  begin(taken: readonly Command[], term: Term): void {
    const { book } = this.deps;
    for (const command of taken) {
      if (!isFinal(command.state) && book.room > 0) this.adopt(command, term, false);
      else {
        if (!isFinal(command.state)) book.overflow(true);
        book.remember(command);
      }
    }
    this.fallBehind(book.ofTerm(term));
    this.sweep.begin();
    void sweepLandings({ ...this.deps, orphans: this.orphans }, this.options, term);
  }

  /**
   * A row just committed. Never waits, never fails. If it concerns no command here, only the key is
   * looked at.
   */
  follow(row: LogRow): void {
    const { book } = this.deps;
    const { commandId, bound, key } = row;
    const placed = commandId === undefined ? undefined : book.get(commandId);
    if (commandId !== undefined && placed === undefined && (bound !== undefined || book.isRecent(commandId)))
      this.orphans.judgeLater(commandId);
    if (placed === undefined && !book.watchesOrder(key)) return;
    const update = this.parse(row);
    if (update === undefined) return;
    if (placed !== undefined && bound !== undefined) takeBound(placed, bound);
    const touched = new Set(book.ofOrder(orderKey(update.order.stream, update.order.orderId)));
    if (placed !== undefined) touched.add(placed);
    for (const entry of touched) if (takeUpdate(entry, update)) void this.resolving.resolve(entry);
  }

  /** Batches were committed that can't be handed over: the journal has their news of these. */
  fallBehind(entries: readonly Watched[]): void {
    for (const entry of entries) entry.behind = true;
    void this.resolveAll(entries);
    this.orphans.lookUp();
  }

  /** A version of a watched command was committed. */
  changed(entry: Watched, before: Command): void {
    const { command, term } = entry;
    if (term.over.aborted) return;
    // An answered command may reach conclusions that an open one may not.
    if (before.state === 'open' && command.state !== 'open') void this.resolving.resolve(entry);
    this.watch.follow(entry);
    if (before.state !== command.state && command.state === 'refused' && command.request.kind === 'cancel')
      void lookAfterRefusal(this.looks, entry);
  }

  /**
   * Reads every account with commands that are followed, within the budget, and reports the result.
   */
  probe(scope: { readonly accountId?: string; readonly dryRun: boolean }): Promise<ProbeReport> {
    return probeNow({ ...this.deps, watch: this.watch }, scope);
  }

  private parse(row: LogRow): ResolvingUpdate | undefined {
    try {
      return decodeUpdate(row.payload);
    } catch (err) {
      this.deps.log.error(
        { err, key: row.key },
        'a committed update could not be read; its commands are judged from the log',
      );
      this.fallBehind([...this.deps.book.all()]);
      return undefined;
    }
  }

  /** Takes a command of the journal into memory. */
  private adopt(command: Command, term: Term, behind: boolean): Watched {
    const { book, clock } = this.deps;
    const sentMs = lastPossibleSendMs(command) ?? command.createdAtMs;
    const ageMs = Math.min(longestAgeMs, Math.max(0, clock.nowMs() - sentMs));
    const entry = book.watch(command, clock.monotonicMs() - ageMs, term);
    this.watch.follow(entry);
    if (!behind) return entry;
    entry.behind = true;
    void this.resolving.resolve(entry);
    return entry;
  }

  private oldestSend(stream: Stream, accountId: string): LookSince | undefined {
    const { book, clock } = this.deps;
    const [nowMs, monotonicMs] = [clock.nowMs(), clock.monotonicMs()];
    let oldest: Required<LookSince> | undefined;
    for (const { command, openedAtMs } of book.ofAccount(accountId)) {
      const { request, createdAtMs } = command;
      if (request.stream !== stream || !isFollowed(command)) continue;
      oldest = {
        atMs: Math.min(createdAtMs, oldest?.atMs ?? createdAtMs),
        agoMs: Math.max(nowMs - createdAtMs, monotonicMs - openedAtMs, oldest?.agoMs ?? 0),
      };
    }
    return oldest;
  }

  /**
   * Runs in the background: a rival that could not be recorded is
   * read again with the next takeover.
   */
  private rival(entry: Watched, rivalId: string, has: boolean): void {
    const { journal, clock, log } = this.deps;
    const { commandId } = entry.command;
    if (!has) void this.resolving.resolve(entry);
    const code = has ? 'rival' : 'no_rival';
    journal
      .addEvidence(commandId, [{ kind: 'note', code, detail: { commandId: rivalId }, atMs: clock.nowMs() }])
      .catch((err) => {
        log.warn({ err, commandId, rivalId }, 'a rival of a command could not be recorded');
      });
  }

  private async resolveAll(entries: readonly Watched[]): Promise<void> {
    try {
      await catchUp(this.deps.journal, this.deps.book, entries);
    } catch {
      // Each entry is still behind, and tries for itself.
    }
    await inParallel(entries, judgedAtOnce, (entry) => this.resolving.resolve(entry));
  }

  /** All shown by a complete read is committed by now: it missed any command still unknown. */
  private async judge(entries: readonly Watched[], probe: CompleteProbe): Promise<void> {
    // All are of one account, and so of one term.
    const term = entries[0]?.term;
    if (term === undefined || term.over.aborted) return;
    for (const entry of entries) entry.behind = true;
    await this.resolveAll(entries);
    const { calledAtMs, look } = probe;
    const ended = entries.filter((entry) => noteStillEnded(entry, { ...look, calledAtMs }));
    await inParallel(ended, judgedAtOnce, (entry) => this.resolving.resolve(entry));
    await countMisses(this.deps, entries, probe, term);
  }
}

/**
 * The budget may make many accounts wait for minutes; after
 * this time the caller gets the result so far.
 */
const longestMs = 20_000;

/**
 * Probes everything that is followed at once, within the
 * budget; `dryRun` reads nothing. Never rejects.
 */
async function probeNow(
  { book, clock, watch }: Pick<CommandParts, 'book' | 'clock'> & { readonly watch: ProbeWatch },
  { accountId, dryRun }: { readonly accountId?: string; readonly dryRun: boolean },
): Promise<ProbeReport> {
  const entries = [...(accountId === undefined ? book.all() : book.ofAccount(accountId))];
  const followed = entries.filter(({ command }) => isFollowed(command));
  const groups = Map.groupBy(followed, ({ command: { request } }) => `${request.stream}:${request.accountId}`);
  const plan = [...groups.values()].flatMap(([first, ...others]) =>
    first === undefined
      ? []
      : {
          accountId: first.command.request.accountId,
          stream: first.command.request.stream,
          read: 'changes of the account',
          commands: [first, ...others].map(({ command }) => command.commandId),
        },
  );
  const unresolved = entries.filter(({ command }) => isUnresolved(command.state)).length;
  if (dryRun) return { unresolved, probes: plan.length, resolved: [], plan };
  const over = new AbortController();
  const all = Promise.all([...groups.values()].map(([first]) => first && watch.readAccountOf(first)));
  await Promise.race([all, clock.sleep(longestMs, over.signal)]);
  over.abort();
  const resolved = followed
    .filter(({ command }) => isFinal(command.state))
    .map(({ command }) => ({ commandId: command.commandId, result: command.state as ResultWord }));
  return { unresolved, probes: plan.length, resolved, plan };
}
