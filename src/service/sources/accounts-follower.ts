import type { Stream } from '../../domain/order.ts';
import type { Ambient } from '../../observability/ambient.ts';
import { Backoff } from '../../runtime/backoff.ts';
import type { AccountRecord, AccountRegistry } from '../../store/fleet/account-registry.ts';
import type { AccountsResult, OrderReads, PlatformAccount } from '../../venue/platform/order-reads.ts';
import type { PlatformError } from '../../venue/platform/platform-error.ts';
import { type AccountStanding, givenUp, restAskedMs } from './account-access.ts';
import { AccountClaims } from './account-claims.ts';

/** Follows accounts: one for each stream. */
interface AccountFollower {
  readonly stream: Stream;
  follow(record: AccountRecord): void;
  unfollow(accountId: string): void;
  /** What the list calls the account: it counts from now on, and is stored. */
  noteSimulated(accountId: string, isSim: boolean): void;
}

interface AccountsFollowerDeps extends Ambient {
  readonly reads: OrderReads;
  readonly registry: AccountRegistry;
}

export interface AccountsFollowerOptions {
  /** Only these, where given. */
  readonly only?: ReadonlySet<string>;
  /**
   * Whether this process follows the account now, rather than another one; `review` follows each
   * change. Left out: it follows all.
   */
  readonly isOurs?: (accountId: string) => boolean;
  /** The list is asked for after 2/3 to 4/3 of this. Default 45 s. */
  readonly everyMs?: number;
  /** Shared with the followers of other credentials. Left out: there are none. */
  readonly claims?: AccountClaims;
  /**
   * Whether there is no other credential now, so every account of the registry was ours. Left out:
   * there is none.
   */
  readonly isSole?: () => boolean;
}

type CompleteList = Extract<AccountsResult, { complete: true }>;

/**
 * Keeps the sources on all accounts the platform lists, with any status. New ones are followed
 * without a restart, and those leaving the list are followed on, marked so. A status decides what
 * may be placed, never what is followed: a restricted or closed account may have open orders.
 *
 * States: starting (until the list was read once, or the registry instead) → following. Invariant:
 * once the list has shown an account to this credential, it is left only for another process or
 * credential. A list that failed, or has unreadable items, says nothing about accounts it does not
 * show. An account is in the registry before a source follows it. Each source counts by itself: if
 * one follows an account, the other need not.
 */
export class AccountsFollower {
  private readonly records = new Map<string, AccountRecord>();
  /** Account → the streams that follow it. */
  private readonly followed = new Map<string, Set<Stream>>();
  private lastError: string | undefined;
  private loaded = false;
  private listed = false;
  /** The last complete list. */
  private newest: CompleteList | undefined;
  private readonly standings = new Map<string, AccountStanding>();
  private reviewed = false;
  private resting = new AbortController();
  private readonly deps: AccountsFollowerDeps;
  private readonly sources: readonly AccountFollower[];
  private readonly options: AccountsFollowerOptions;
  private readonly claims: AccountClaims;

  constructor(deps: AccountsFollowerDeps, sources: readonly AccountFollower[], options: AccountsFollowerOptions = {}) {
    this.deps = deps;
    this.sources = sources;
    this.options = options;
    this.claims = options.claims ?? new AccountClaims();
  }

  /**
   * A complete list was read since the beginning: this credential does not
   * have the accounts that are not followed.
   */
  get hasListed(): boolean {
    return this.listed;
  }

  /** The accounts of the last complete list, open or not; undefined: there was none. */
  get newestList(): readonly PlatformAccount[] | undefined {
    return this.newest?.accounts;
  }

  /** Undefined where the account is not followed, or no list has shown it yet. */
  standing(accountId: string): AccountStanding | undefined {
    return this.followed.has(accountId) ? this.standings.get(accountId) : undefined;
  }

  get error(): string | undefined {
    return this.lastError;
  }

  /** Follows until `signal` aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.deps;
    const everyMs = this.options.everyMs ?? 45_000;
    const backoff = new Backoff(random, { firstMs: 1_000, maxMs: everyMs });
    while (!signal.aborted) {
      try {
        await this.load();
        const failed = await this.look(signal);
        if (failed === undefined) backoff.reset();
        const restMs =
          failed === undefined
            ? everyMs * (2 / 3 + (random.next() * 2) / 3)
            : Math.max(backoff.nextMs(), restAskedMs(failed));
        await this.rest(restMs, signal);
      } catch (error) {
        this.complain(error instanceof Error ? error.message : String(error));
        await clock.sleep(backoff.nextMs(), signal);
      }
    }
  }

  /**
   * `isOurs` has changed its mind about some accounts: those no longer ours are left before this
   * returns, new ones are followed soon.
   */
  review(): void {
    for (const accountId of [...this.followed.keys()]) {
      if (this.wanted(accountId)) continue;
      this.leave(accountId, 'another process follows the account from now on');
      this.claims.release(accountId, this);
    }
    // The records of new ones may have been written by another process.
    this.loaded = false;
    this.reviewed = true;
    this.resting.abort();
  }

  /**
   * A review needs no new list, so it works while the platform is away. Each turn sleeps. Before, a
   * review waiting for the first list was a loop, and nothing else ran.
   */
  private async rest(forMs: number, signal: AbortSignal): Promise<void> {
    const { clock } = this.deps;
    const untilMs = clock.monotonicMs() + forMs;
    while (!signal.aborted) {
      if (this.reviewed) await this.reviewNow(signal);
      this.resting = new AbortController();
      // A review that came while the last one was applied is not
      // lost: the sleep is short, and not left out.
      await clock.sleep(this.reviewed ? 0 : untilMs - clock.monotonicMs(), signal, this.resting.signal);
      if (!this.reviewed) return;
    }
  }

  /** By the last complete list; by the registry's accounts if none was ever read. */
  private async reviewNow(signal: AbortSignal): Promise<void> {
    this.reviewed = false;
    try {
      await this.load();
      if (this.newest === undefined) this.followKnown();
      // It may be older than an account that came with a shard, so it is no word on what it does
      // not show, and what is stored of an account may be newer.
      else await this.apply(this.newest.accounts, { isWhole: false, isNews: false }, signal);
    } catch (error) {
      // The next list may fail as well, and would leave the accounts
      // that became ours without a process.
      this.reviewed = true;
      throw error;
    }
  }

  /**
   * A review while the records are read asks for them once more: its accounts
   * may have been another process's until then.
   */
  private async load(): Promise<void> {
    while (!this.loaded) {
      this.loaded = true;
      const records = await this.deps.registry.load().catch((error: unknown) => {
        this.loaded = false;
        throw error;
      });
      this.records.clear();
      for (const record of records) this.records.set(key(record.stream, record.accountId), record);
    }
  }

  /** Undefined: the list was complete, and is applied. */
  private async look(signal: AbortSignal): Promise<PlatformError | undefined> {
    const list = await this.deps.reads.listAccounts(signal);
    if (signal.aborted) return givenUp;
    // There may have been a review meanwhile.
    await this.load();
    if (list.complete) {
      this.lastError = undefined;
      this.newest = list;
      this.reviewed = false;
      const unreadable = list.unreadable ?? 0;
      if (unreadable > 0)
        this.deps.log.warn(
          { unreadable },
          'items of the list of accounts have no id: which accounts they are is not known',
        );
      await this.apply(list.accounts, { isWhole: unreadable === 0, isNews: true }, signal);
      this.listed = true;
      return undefined;
    }
    this.complain(list.error.message);
    // Yesterday's accounts are better than none: each is checked by its own subscription.
    if (this.followed.size === 0) this.followKnown();
    return list.error;
  }

  /**
   * `isWhole`: an account it does not show is not listed any more. `isNews`: the list was not
   * applied before.
   */
  private async apply(
    accounts: readonly PlatformAccount[],
    { isWhole, isNews }: { readonly isWhole: boolean; readonly isNews: boolean },
    signal: AbortSignal,
  ): Promise<void> {
    const shown = new Map(
      accounts.filter(({ accountId }) => this.wanted(accountId)).map((each) => [each.accountId, each]),
    );
    this.noteStandings([...shown.values()]);
    for (const accountId of [...this.followed.keys()]) {
      if (shown.has(accountId) || (this.wanted(accountId) && (!isWhole || this.keeps(accountId)))) continue;
      this.leave(accountId, 'no list of this credential shows the account: it may be of another one');
      this.claims.release(accountId, this);
    }
    for (const account of shown.values()) {
      if (!this.claim(account.accountId, true)) continue;
      for (const source of this.sources) {
        if (signal.aborted) return;
        const isFollowed = this.followed.get(account.accountId)?.has(source.stream) === true;
        if (!isFollowed && !(await this.begin(source, account))) break;
        if (isNews && account.isSim !== undefined) source.noteSimulated(account.accountId, account.isSim);
      }
    }
    if (signal.aborted) return;
    if (this.isSole) this.followKnown();
    if (isWhole) this.markUnlisted(shown);
  }

  /** False: the account is another process's by now. */
  private async begin(source: AccountFollower, account: PlatformAccount): Promise<boolean> {
    const record = await this.recordOf(source.stream, account);
    // A review while the record was written: what the account's new
    // process has not read would count as read.
    if (!this.wanted(account.accountId)) {
      this.claims.release(account.accountId, this);
      return false;
    }
    this.follow(source, record);
    return true;
  }

  private get isSole(): boolean {
    return this.options.isSole?.() ?? true;
  }

  /**
   * If there is another credential, an account only remembered from an earlier run may be its own.
   */
  private keeps(accountId: string): boolean {
    const isUnlisted = this.standings.get(accountId)?.unlistedSinceMs !== undefined;
    return this.isSole || isUnlisted || this.claims.isFirm(accountId, this);
  }

  private noteStandings(shown: readonly PlatformAccount[]): void {
    const changed: string[] = [];
    for (const { accountId, isOpen, status } of shown) {
      const before = this.standings.get(accountId);
      this.standings.set(accountId, { isOpen, ...(status !== undefined && { status }) });
      const isNews = before === undefined ? !isOpen : before.isOpen !== isOpen || before.status !== status;
      if (isNews) changed.push(`${accountId}: ${status ?? 'no status'}`);
    }
    if (changed.length === 0) return;
    const named = { count: changed.length, accounts: changed.slice(0, 5) };
    this.deps.log.warn(named, 'accounts have another status: only on those that are OPEN orders are placed');
  }

  /**
   * They are followed on for as long as the platform lets us, and
   * given to another credential that lists them.
   */
  private markUnlisted(shown: ReadonlyMap<string, PlatformAccount>): void {
    for (const accountId of this.followed.keys()) {
      const before = this.standings.get(accountId);
      if (shown.has(accountId) || before?.unlistedSinceMs !== undefined) continue;
      this.standings.set(accountId, { ...before, isOpen: false, unlistedSinceMs: this.deps.clock.nowMs() });
      this.claims.release(accountId, this);
      this.claim(accountId, false);
      this.deps.log.warn(
        { accountId },
        'the platform lists the account no longer: followed on, and nothing is placed on it',
      );
    }
  }

  private follow(source: AccountFollower, record: AccountRecord): void {
    const streams = this.followed.get(record.accountId) ?? new Set();
    this.followed.set(record.accountId, streams.add(source.stream));
    source.follow(record);
  }

  private claim(accountId: string, firm: boolean): boolean {
    const evicted = () => this.leave(accountId, 'another credential lists the account: it follows it now');
    if (this.claims.claim(accountId, this, firm, evicted)) return true;
    // The other owner updates the account's record: if the account comes to us,
    // we begin from the record stored by then.
    this.loaded = false;
    return false;
  }

  private leave(accountId: string, why: string): void {
    this.standings.delete(accountId);
    if (!this.followed.delete(accountId)) return;
    // Its session may have updated the record; if the account comes
    // back, it begins from the stored one.
    this.loaded = false;
    this.deps.log.info({ accountId }, why);
    for (const source of this.sources) source.unfollow(accountId);
  }

  private followKnown(): void {
    for (const record of this.records.values()) {
      const source = this.sources.find(({ stream }) => stream === record.stream);
      if (source === undefined || this.followed.get(record.accountId)?.has(record.stream) === true) continue;
      if (this.wanted(record.accountId) && this.claim(record.accountId, false)) this.follow(source, record);
    }
  }

  private async recordOf(stream: Stream, { accountId, isSim }: PlatformAccount): Promise<AccountRecord> {
    const known = this.records.get(key(stream, accountId));
    if (known !== undefined) return known;
    const record: AccountRecord = {
      stream,
      accountId,
      // Never guessed to be simulated; a list that says so later is believed.
      isSim: isSim ?? this.sources.some((other) => this.records.get(key(other.stream, accountId))?.isSim === true),
      sourceEpoch: 0,
      readUpTo: undefined,
      auditedUpTo: undefined,
    };
    await this.deps.registry.save(record);
    this.records.set(key(stream, accountId), record);
    return record;
  }

  private wanted(accountId: string): boolean {
    const { only, isOurs } = this.options;
    return (only?.has(accountId) ?? true) && (isOurs?.(accountId) ?? true);
  }

  private complain(reason: string): void {
    if (this.lastError !== reason) this.deps.log.warn({ reason }, 'the accounts could not be listed');
    this.lastError = reason;
  }
}

function key(stream: Stream, accountId: string): string {
  return `${stream}:${accountId}`;
}
