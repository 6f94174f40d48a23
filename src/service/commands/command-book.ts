import { awaitsVenue, type Command, isFinal, isUnresolved, makesOrder } from '../../domain/command.ts';
import { orderKey } from '../../domain/order.ts';
import type { Clock } from '../../runtime/clock.ts';
import { dropOldest } from '../../runtime/drop-oldest.ts';
import type { Term } from '../../store/commands/term.ts';
import type { AccountScope } from '../../store/orders/order-reads.ts';
import { type Watched, watchedFrom } from './watched.ts';

interface BookOptions {
  readonly maxWatched: number;
  readonly recentMs: number;
}

/** Commands sent and unresolved. */
export interface SentAndUnresolved {
  readonly unresolved: number;
  /** Wall time: the oldest one's last possible send. */
  readonly oldestUnresolvedMs: number | undefined;
}

/** Called with each new version of a watched command. `before`: the version known until then. */
type OnChange = (watched: Watched, before: Command) => void;

const maxRecent = 50_000;

/**
 * The commands of the held shards, unless they are over, in memory, for the checks, the resolver
 * and waiting callers. The journal is the truth; a higher version wins.
 *
 * Invariant: an entry's `command` never goes back to a lower version; an entry leaves when its
 * command is final and no attempt is in hand, or with its term. `complete` is true only while every
 * command in the held shards is here until it is final: only then can the book answer "nothing
 * unresolved before it". Callers who wait for a command are called whichever term follows it.
 */
export class CommandBook {
  /** Watched commands. Read for each committed row. */
  size = 0;
  private readonly watched = new Map<string, Watched>();
  private readonly byOrder = new Map<string, Set<Watched>>();
  private readonly byAccount = new Map<string, Set<Watched>>();
  /**
   * Places nothing watches, though order news would change them. The value: until when (monotonic)
   * such news is looked up in the journal.
   */
  private readonly recent = new Map<string, number>();
  private overflowed = false;
  /** Being journaled at this moment: perhaps in the journal already, and not here yet. */
  readonly opening = new Set<string>();
  private readonly clock: Clock;
  private readonly options: BookOptions;
  private readonly waiters = new Map<string, Set<(command: Command) => void>>();
  /** Set once by the entries' follower. */
  onChange: OnChange = () => {};
  onLeave: (watched: Watched) => void = () => {};
  /**
   * `has`: the command has a rival. Otherwise its last rival is known to have never been pending.
   */
  onRival: (watched: Watched, rivalId: string, has: boolean) => void = () => {};

  constructor(clock: Clock, options: BookOptions) {
    this.clock = clock;
    this.options = options;
  }

  get room(): number {
    return Math.max(0, this.options.maxWatched - this.size);
  }

  get complete(): boolean {
    return !this.overflowed && this.room > 0;
  }

  /** Some commands of the journal did not fit, or all of them fit again. */
  overflow(overflowed: boolean): void {
    this.overflowed = overflowed;
  }

  /**
   * `sentAtMs`: see `Watched`. A command already watched is only adopted. Nothing is kept under a
   * term that is over: the entry is its caller's alone.
   */
  watch(command: Command, sentAtMs: number, term: Term): Watched {
    const known = this.watched.get(command.commandId);
    if (known?.term === term) {
      this.adopt(command);
      return known;
    }
    const entry = watchedFrom(command, term, sentAtMs, this.clock.monotonicMs());
    if (term.over.aborted) return entry;
    // For a command that was opened just now, all rivals are here if all commands are.
    if (command.state === 'open' && this.complete) entry.rivalsUnread = false;
    entry.behind = entry.rivalsUnread;
    this.watched.set(command.commandId, entry);
    this.size = this.watched.size;
    add(this.byAccount, command.request.accountId, entry);
    this.indexOrder(entry);
    this.markRivals(entry);
    return entry;
  }

  get(commandId: string): Watched | undefined {
    return this.watched.get(commandId);
  }

  all(): Iterable<Watched> {
    return this.watched.values();
  }

  ofAccount(accountId: string): Iterable<Watched> {
    return this.byAccount.get(accountId) ?? [];
  }

  /** Those that name this order (`<stream>:<orderId>`), or were bound to it. */
  ofOrder(key: string): Iterable<Watched> {
    return this.byOrder.get(key) ?? [];
  }

  watchesOrder(key: string): boolean {
    return this.byOrder.has(key);
  }

  /** While one of them is pending, the order does not show which. */
  addRival(entry: Watched, rivalId: string): void {
    if (entry.rivals.has(rivalId)) return;
    entry.rivals.add(rivalId);
    if (entry.rivals.size === 1) this.onRival(entry, rivalId, true);
  }

  private markRivals(entry: Watched): void {
    for (const other of this.othersOfOrder(entry)) {
      if (this.isRival(entry, other)) this.addRival(other, entry.command.commandId);
      if (this.isRival(other, entry)) this.addRival(entry, other.command.commandId);
    }
  }

  /**
   * Whether what the order shows of `of` may be the rival's: another cancel, perhaps in flight at
   * the same time, or a replace that one of the two was sent in place of, also by way of others.
   */
  private isRival(rival: Watched, of: Watched): boolean {
    if (of.command.request.kind === 'cancel') return rival.command.request.kind === 'cancel';
    return isSentFor(rival, of) || isSentFor(of, rival);
  }

  /** The platform refused it, or we did not send it: it was never pending. */
  private unmarkRivals(entry: Watched): void {
    const { commandId, state } = entry.command;
    if (state !== 'refused' && state !== 'not_sent') return;
    for (const other of this.othersOfOrder(entry))
      if (other.rivals.delete(commandId) && other.rivals.size === 0) this.onRival(other, commandId, false);
  }

  private othersOfOrder(entry: Watched): Watched[] {
    const key = orderKeyOf(entry.command);
    return key === undefined ? [] : [...this.ofOrder(key)].filter((other) => other !== entry);
  }

  /**
   * Takes a committed version. An older one than ours changes nothing. Without a watch, only the
   * command's waiters are called.
   */
  adopt(command: Command): void {
    const entry = this.watched.get(command.commandId);
    if (entry === undefined) {
      this.notify(command);
      return;
    }
    const before = entry.command;
    if (!isNewer(command, before)) return;
    entry.command = command;
    this.indexOrder(entry);
    this.unmarkRivals(entry);
    this.onChange(entry, before);
    this.notify(command);
    this.leaveIfOver(entry);
  }

  /**
   * Used when more commands exist than fit: the command followed longest, and for at least
   * `turnMs`, gives its place to another one, and gets it back in its turn. False: none can yet.
   * Meanwhile its order's news, or a decision upon it, goes to `OrphanOrders`; its order's changes
   * are in the log.
   */
  yieldPlace(turnMs: number): boolean {
    const nowMs = this.clock.monotonicMs();
    // The map keeps the order in which they came.
    for (const entry of this.watched.values()) {
      if (nowMs - entry.watchedSinceMs < turnMs) return false;
      if (entry.attemptsInHand > 0 || entry.command.state === 'open') continue;
      this.leave(entry);
      return true;
    }
    return false;
  }

  /** Keeps the entry here, in any state, until `letGo`. */
  retain(entry: Watched): void {
    entry.attemptsInHand += 1;
  }

  release(entry: Watched): void {
    entry.attemptsInHand -= 1;
    this.leaveIfOver(entry);
  }

  /** Unwatched places whose order may still appear, or show something new. */
  recentIds(): string[] {
    const nowMs = this.clock.monotonicMs();
    for (const [commandId, untilMs] of this.recent) {
      if (untilMs > nowMs) break;
      this.recent.delete(commandId);
    }
    return [...this.recent.keys()];
  }

  isRecent(commandId: string): boolean {
    return this.recent.has(commandId);
  }

  /**
   * News does not prolong its time, so the places that were remembered first are forgotten first.
   */
  remember(command: Command): void {
    if (!mayHaveNews(command) || this.recent.has(command.commandId)) return;
    this.recent.set(command.commandId, this.clock.monotonicMs() + this.options.recentMs);
    dropOldest(this.recent, maxRecent);
  }

  /** The term is over: its commands are another holder's. */
  forget(term: Term): void {
    for (const entry of this.ofTerm(term)) this.leave(entry);
  }

  ofTerm(term: Term): Watched[] {
    return [...this.watched.values()].filter((entry) => entry.term === term);
  }

  /**
   * Calls the given function with every committed version from now
   * on, until the returned function is called.
   */
  listen(commandId: string, listener: (command: Command) => void): () => void {
    add(this.waiters, commandId, listener);
    return () => remove(this.waiters, commandId, listener);
  }

  isAwaited(commandId: string): boolean {
    return this.waiters.has(commandId);
  }

  sentAndUnresolved(scope: AccountScope): SentAndUnresolved {
    const { clock } = this;
    const watched =
      scope.kind === 'all' ? [...this.all()] : [...new Set(scope.accountIds)].flatMap((id) => [...this.ofAccount(id)]);
    const sent = watched.filter(({ command }) => isUnresolved(command.state) && command.state !== 'open');
    const sentAtMs = Math.min(...sent.map((each) => each.sentAtMs));
    return {
      unresolved: sent.length,
      oldestUnresolvedMs: sent.length === 0 ? undefined : clock.nowMs() - (clock.monotonicMs() - sentAtMs),
    };
  }

  private notify(command: Command): void {
    for (const listener of this.waiters.get(command.commandId) ?? []) listener(command);
  }

  private leaveIfOver(entry: Watched): void {
    if (
      entry.attemptsInHand > 0 ||
      !isFinal(entry.command.state) ||
      this.watched.get(entry.command.commandId) !== entry
    )
      return;
    this.leave(entry);
  }

  private leave(entry: Watched): void {
    this.watched.delete(entry.command.commandId);
    this.size = this.watched.size;
    remove(this.byAccount, entry.command.request.accountId, entry);
    const key = orderKeyOf(entry.command);
    if (key !== undefined) remove(this.byOrder, key, entry);
    this.remember(entry.command);
    this.onLeave(entry);
  }

  private indexOrder(entry: Watched): void {
    const key = orderKeyOf(entry.command);
    if (key !== undefined) add(this.byOrder, key, entry);
  }
}

/**
 * Without a step, attempts may move (prepared to sending) and misses may be counted: between equal
 * versions, the one that is further on is newer.
 */
function isNewer(command: Command, than: Command): boolean {
  if (command.version !== than.version) return command.version > than.version;
  return sendings(command) > sendings(than) || command.misses > than.misses;
}

function sendings({ attempts }: Command): number {
  return attempts.filter(({ state }) => state !== 'prepared').length;
}

/**
 * One that makes an order, final but not `applied`: its order may land late. Or one waiting for the
 * venue without room: its order resolves it.
 */
function mayHaveNews(command: Command): boolean {
  if (!makesOrder(command.request)) return false;
  return isFinal(command.state) ? command.state !== 'applied' : awaitsVenue(command);
}

function isSentFor({ command: { supersedes } }: Watched, { command, rivals }: Watched): boolean {
  return supersedes !== undefined && (supersedes === command.commandId || rivals.has(supersedes));
}

/** The order it names. The one that it makes has its command's id. */
function orderKeyOf({ request, orderId: made }: Command): string | undefined {
  const orderId = request.kind === 'place' ? made : request.orderId;
  return orderId === undefined ? undefined : orderKey(request.stream, orderId);
}

function add<T>(index: Map<string, Set<T>>, key: string, entry: T): void {
  const entries = index.get(key);
  if (entries === undefined) index.set(key, new Set([entry]));
  else entries.add(entry);
}

function remove<T>(index: Map<string, Set<T>>, key: string, entry: T): void {
  const entries = index.get(key);
  entries?.delete(entry);
  if (entries?.size === 0) index.delete(key);
}
