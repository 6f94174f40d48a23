import type { Stream } from '../../domain/order.ts';
import type { ClockAndLogger } from '../../observability/ambient.ts';
import type { Metrics } from '../../observability/metrics.ts';
import { plural } from '../../runtime/plural.ts';
import { inParallel } from '../../runtime/waiting.ts';
import type { AccountRecord, AccountRegistry } from '../../store/fleet/account-registry.ts';
import type { AccountList } from './account-list.ts';
import type { Source } from './source.ts';
import { type FollowInputs, type WantedAccount, wantedAccounts } from './wanted-accounts.ts';

/** A login at work, with one source for each stream. */
export interface FollowingLogin {
  readonly list: Pick<AccountList, 'lists' | 'news'>;
  readonly sources: readonly Pick<Source, 'stream' | 'followed' | 'follow' | 'unfollow' | 'noteSimulated'>[];
}

/**
 * An account stream this process ought to follow and does not, or follows on though no login lists
 * it any more.
 */
export interface Unfollowed {
  readonly stream: Stream;
  readonly accountId: string;
  /** Wall time in milliseconds. */
  readonly sinceMs: number;
  /** The same, monotonic: a wall clock set back would hide it for an hour. */
  readonly fromMs: number;
  /** Continues "… is not followed: ". */
  readonly why: string;
}

interface AccountsFollowerDeps extends ClockAndLogger {
  readonly registry: Pick<AccountRegistry, 'load' | 'save'>;
  /** At work now. `wake` follows each change. */
  readonly logins: ReadonlyMap<string, FollowingLogin>;
  readonly metrics: Pick<Metrics['source'], 'unfollowed'>;
}

/** One process follows all accounts, and there are no other logins. */
export const accountsFollowerDefaults = {
  /**
   * Whether this process follows the account now, rather than another one; `review` follows each
   * change.
   */
  isOurs: (_accountId: string): boolean => true,
  /** Whether there are no other logins. */
  knowsAll: (): boolean => true,
  /** Between two turns, if nothing changes. */
  compareEveryMs: 2_000,
  /** An account just taken, linked or opened is followed within seconds. */
  graceMs: 30_000,
  /** The database's accounts are read again after each review, and this often. */
  loadEveryMs: 300_000,
};

export type AccountsFollowerOptions = Pick<FollowInputs, 'ofVenue' | 'streams' | 'only'> &
  Readonly<typeof accountsFollowerDefaults>;

const named = 5;
/** New accounts: the first start has thousands. */
const savesAtOnce = 8;
const notListed =
  'no login lists it any more: it is followed on as far as the platform lets us, and nothing is placed on it';

/**
 * Brings the followed accounts to what they ought to be (`wantedAccounts`), in turns: after each
 * change in lists, logins or shards, and every few seconds. A difference longer than the grace is a
 * doubt: without it, "every account is live" would only speak about followed accounts, and not
 * about a login without its key, or an empty list.
 *
 * Invariant: one turn at a time. The sources say who is followed, and nothing waits between stops
 * and starts, so an account never has two logins here. An account is in the database before a
 * source follows it, and its record is read again once another process or login may have changed
 * it. If this process ought to follow an account stream for `graceMs` + 2 × `compareEveryMs`, the
 * stream is followed or in `unfollowed`. A shard's move begins this time again.
 */
export class AccountsFollower {
  /** The database's accounts at this venue: their records by stream. */
  readonly known = new Map<string, Map<Stream, AccountRecord>>();
  /** The records may have been changed since they were read. */
  private stale = true;
  private loadAtMs = 0;
  /** New accounts' records, to be stored before they are followed. */
  private lacking: readonly AccountRecord[] = [];
  private failing = false;
  private woken = false;
  private resting = new AbortController();
  private missing = new Map<string, Unfollowed>();
  private shown: readonly Unfollowed[] = [];
  private readonly deps: AccountsFollowerDeps;
  private readonly options: AccountsFollowerOptions;

  constructor(deps: AccountsFollowerDeps, options: AccountsFollowerOptions) {
    this.deps = deps;
    this.options = options;
  }

  /** Streams missing for longer than the grace, the longest first. */
  get unfollowed(): readonly Unfollowed[] {
    return this.shown;
  }

  get isSole(): boolean {
    return this.deps.logins.size === 1 && this.options.knowsAll();
  }

  /** All lists were read and applied: no login has an account beside the followed ones. */
  get hasListed(): boolean {
    const isApplied = !this.woken && !this.stale && this.lacking.length === 0;
    return isApplied && this.options.knowsAll() && this.lists.every(({ said }) => said === 'whole');
  }

  /** No list has come, and the database has no account. */
  get knowsNone(): boolean {
    return this.known.size === 0 && this.lists.some(({ said, accounts }) => said !== 'whole' && accounts.size === 0);
  }

  private get lists() {
    return Array.from(this.deps.logins.values(), ({ list }) => list.lists);
  }

  mayFollow(accountId: string): boolean {
    const { only, isOurs } = this.options;
    return (only?.has(accountId) ?? true) && isOurs(accountId);
  }

  /** Follows until `signal` aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log, metrics } = this.deps;
    while (!signal.aborted) {
      this.woken = false;
      try {
        await this.turn(signal);
        this.failing = false;
      } catch (err) {
        if (!this.failing) log.warn({ err }, 'accounts can not be followed: the database refuses their records');
        this.failing = true;
      }
      this.resting = new AbortController();
      // Each turn sleeps: otherwise a database that fails at once would keep all else from running.
      await clock.sleep(this.woken ? 0 : this.options.compareEveryMs, signal, this.resting.signal);
    }
    for (const source of this.options.ofVenue) metrics.unfollowed.set({ source }, 0);
  }

  /** A list was read, or a login came or went. */
  wake(): void {
    this.woken = true;
    this.resting.abort();
  }

  /**
   * `isOurs` has changed its mind about some accounts: those no longer ours are left before this
   * returns, new ones are followed soon. Another process may have written their records.
   */
  review(): void {
    for (const [accountId, login] of this.followed()) if (!this.mayFollow(accountId)) this.leave(accountId, login);
    this.stale = true;
    this.wake();
  }

  /** Rejects when the database can't be read or written; the rest is done all the same. */
  private async turn(signal: AbortSignal): Promise<void> {
    try {
      await this.load();
      await inParallel(this.lacking, savesAtOnce, async (record) => {
        if (signal.aborted || !this.mayFollow(record.accountId)) return;
        await this.deps.registry.save(record);
        this.remember(record);
      });
    } finally {
      if (!signal.aborted) this.reconcile();
    }
    if (this.lacking.length > 0) this.wake();
  }

  /** A review while the records are read asks for them once more. */
  private async load(): Promise<void> {
    const { clock, registry } = this.deps;
    if (clock.monotonicMs() >= this.loadAtMs) this.stale = true;
    while (this.stale) {
      this.stale = false;
      this.loadAtMs = clock.monotonicMs() + this.options.loadEveryMs;
      const records = await registry.load().catch((error: unknown) => {
        this.stale = true;
        throw error;
      });
      this.known.clear();
      for (const record of records) if (this.options.ofVenue.includes(record.stream)) this.remember(record);
    }
  }

  private remember(record: AccountRecord): void {
    const records = this.known.get(record.accountId) ?? new Map<Stream, AccountRecord>();
    this.known.set(record.accountId, records.set(record.stream, record));
  }

  /** By the inputs at this moment: nothing waits. */
  private reconcile(): void {
    const { logins } = this.deps;
    const now = this.followed();
    const lists = new Map([...logins].map(([name, { list }]) => [name, list.lists]));
    const wanted = wantedAccounts({ ...this.options, logins: lists, isSole: this.isSole, known: this.known, now });
    for (const [accountId, login] of now) if (wanted.get(accountId)?.login !== login) this.leave(accountId, login);
    this.lacking = this.stale ? [] : [...wanted].flatMap(([accountId, each]) => this.begin(accountId, each));
    if (!this.stale)
      for (const { list, sources } of logins.values()) {
        for (const [accountId, isSim] of list.news)
          for (const source of sources) source.noteSimulated(accountId, isSim);
        list.news.clear();
      }
    this.compare(wanted);
  }

  /** Returns the records to be stored first. */
  private begin(accountId: string, { login = '', streams: on }: WantedAccount): AccountRecord[] {
    const { list, sources = [] } = this.deps.logins.get(login) ?? {};
    const stored = this.known.get(accountId);
    const lacking: AccountRecord[] = [];
    for (const source of sources) {
      const { stream } = source;
      if (!on.has(stream) || source.followed.has(accountId)) continue;
      const record = stored?.get(stream);
      if (record !== undefined) source.follow(record);
      else {
        // Never guessed to be simulated; a later list is believed.
        const { isSim = [...(stored?.values() ?? [])].some((other) => other.isSim) } =
          list?.lists.accounts.get(accountId) ?? {};
        lacking.push({ stream, accountId, isSim, sourceEpoch: 0, readUpTo: undefined, auditedUpTo: undefined });
      }
    }
    return lacking;
  }

  private leave(accountId: string, login: string): void {
    // Its session may have updated the record; the next one begins from the stored one.
    this.stale = true;
    this.wake();
    this.deps.log.info({ accountId, login }, 'an account is left: another process or login has it');
    for (const source of this.deps.logins.get(login)?.sources ?? []) source.unfollow(accountId);
  }

  private compare(wanted: ReadonlyMap<string, WantedAccount>): void {
    const { clock, logins } = this.deps;
    const missing = new Map<string, Unfollowed>();
    for (const [accountId, { login = '', standing, streams: on }] of wanted)
      for (const stream of on) {
        const source = logins.get(login)?.sources.find((its) => its.stream === stream);
        const isListed = standing !== undefined && standing.unlistedSinceMs === undefined;
        const isFollowed = source?.followed.has(accountId) === true;
        if (isFollowed && standing?.unlistedSinceMs === undefined) continue;
        const why = isFollowed ? notListed : this.whyNot(stream, isListed);
        const key = keyOf({ stream, accountId });
        const { sinceMs, fromMs } = this.missing.get(key) ?? { sinceMs: clock.nowMs(), fromMs: clock.monotonicMs() };
        missing.set(key, { stream, accountId, sinceMs, fromMs, why });
      }
    this.missing = missing;
    this.show();
  }

  private whyNot(stream: Stream, isListed: boolean): string {
    if (!this.options.streams.includes(stream)) return 'this process has no address of its stream';
    return isListed ? 'a login lists it, and following it fails' : 'no login that this process can use lists it';
  }

  private show(): void {
    const { clock, metrics, log } = this.deps;
    const nowMs = clock.monotonicMs();
    const before = new Set(this.shown.map(keyOf));
    this.shown = [...this.missing.values()]
      .filter(({ fromMs }) => nowMs - fromMs >= this.options.graceMs)
      .toSorted((a, b) => a.fromMs - b.fromMs);
    for (const stream of this.options.ofVenue)
      metrics.unfollowed.set({ source: stream }, this.shown.filter((each) => each.stream === stream).length);
    const added = this.shown.filter((each) => !before.has(keyOf(each)));
    if (added.length === 0) return;
    const accounts = added.slice(0, named).map(({ stream, accountId, why }) => `${stream} ${accountId}: ${why}`);
    log.warn(
      { count: added.length, accounts },
      `${plural(added.length, 'account stream')} that ought to be followed by this process, and not followed: docs/runbooks/AccountsUnfollowed.md`,
    );
  }

  /** By account: the login that follows it. */
  private followed(): Map<string, string> {
    const all = [...this.deps.logins].flatMap(([login, { sources }]) =>
      sources.flatMap(({ followed }) => [...followed.keys()].map((accountId) => [accountId, login] as const)),
    );
    return new Map(all);
  }
}

function keyOf({ stream, accountId }: Pick<Unfollowed, 'stream' | 'accountId'>): string {
  return `${stream}:${accountId}`;
}
