import { type Stream, streams } from '../../domain/order.ts';
import type { Ambient } from '../../observability/ambient.ts';
import type { Metrics } from '../../observability/metrics.ts';
import { plural } from '../../runtime/plural.ts';
import { Rounds } from '../../runtime/rounds.ts';
import type { AccountRegistry } from '../../store/fleet/account-registry.ts';
import type { PlatformAccount } from '../../venue/platform/order-reads.ts';
import type { AccountStanding } from '../sources/account-access.ts';

/**
 * An account stream this process ought to follow and does not, or only follows on because no login
 * lists it any more.
 */
export interface Unfollowed {
  readonly stream: Stream;
  readonly accountId: string;
  /** Wall time in milliseconds. */
  readonly sinceMs: number;
  /** Continues "… is not followed: ". */
  readonly why: string;
}

type AccountStream = Pick<Unfollowed, 'stream' | 'accountId'>;

/** With the monotonic start of the grace: a wall clock set back would hide it for an hour. */
interface Missing {
  readonly what: Unfollowed;
  readonly fromMs: number;
}

interface FollowCheckDeps extends Pick<Ambient, 'clock' | 'log'> {
  readonly registry: Pick<AccountRegistry, 'load'>;
  readonly sources: {
    /** Defined if the account is followed on that stream. */
    account(stream: Stream, accountId: string): unknown;
    standing(accountId: string): AccountStanding | undefined;
    /** The accounts in the logins' last complete lists, open or not. */
    listed(): readonly PlatformAccount[];
  };
  /** Whether one of this process's shards has the account. */
  readonly isOurs: (accountId: string) => boolean;
  readonly metrics: Pick<Metrics['source'], 'unfollowed'>;
}

export interface FollowCheckOptions {
  /** The streams this process is set to follow. */
  readonly streams: readonly Stream[];
  /** If given, only these accounts: each of them ought to be followed. */
  readonly only?: ReadonlySet<string>;
  readonly everyMs: number;
  /**
   * An account just taken, linked or opened is followed within seconds; a start reads lists and
   * tokens first.
   */
  readonly graceMs: number;
  /** The database's accounts are read again after each review, and this often. */
  readonly loadEveryMs: number;
}

export const followCheckDefaults = { everyMs: 2_000, graceMs: 30_000, loadEveryMs: 300_000 } as const;

const named = 5;
const notListed =
  'no login lists it any more: it is followed on as far as the platform lets us, and nothing is placed on it';

/**
 * Compares the followed accounts with the expected ones: the accounts in the database (each was
 * followed once), in the logins' lists, and in the settings. Their status makes no difference. If
 * no login lists an account any more, it is followed on as far as the platform lets us, and named
 * here too: its changes may stay away without a visible fault. Each account belongs to one shard
 * and so to one process. This process reports the number to the others.
 *
 * Without this, "every account is live" only speaks about followed accounts. It says nothing about
 * the others: a login without its key, a removed login, an empty list, a stream without an address.
 *
 * Invariant: if this process ought to follow an account stream for `graceMs` + 2 × `everyMs`, the
 * stream is followed or in `unfollowed`. A shard that changes hands begins this time again: its new
 * process has to read the list before it can miss anything.
 */
export class FollowCheck {
  private known: readonly AccountStream[] = [];
  /**
   * Streams shown by a list since the database was read: their records may have been written only
   * then.
   */
  private readonly shownSince = new Map<string, AccountStream>();
  private loadAtMs = Number.NEGATIVE_INFINITY;
  private failing = false;
  /** By stream and account. */
  private missing = new Map<string, Missing>();
  private shown: readonly Unfollowed[] = [];
  readonly rounds: Rounds;
  private readonly deps: FollowCheckDeps;
  private readonly options: FollowCheckOptions;

  constructor(deps: FollowCheckDeps, options: FollowCheckOptions) {
    this.deps = deps;
    this.options = options;
    this.rounds = new Rounds({ clock: deps.clock, round: () => this.look() }, { ...options, name: 'follow-check' });
  }

  /** This process's shards have changed: another process may have written the new ones' records. */
  review(): void {
    this.loadAtMs = Number.NEGATIVE_INFINITY;
  }

  /** Streams missing for longer than the grace, the longest first. */
  get unfollowed(): readonly Unfollowed[] {
    return this.shown;
  }

  private async look(): Promise<void> {
    await this.load();
    this.compare();
  }

  /** Never rejects: if the database can't be read, the earlier reading stays. */
  private async load(): Promise<void> {
    const { registry, clock, log } = this.deps;
    const nowMs = clock.monotonicMs();
    if (nowMs < this.loadAtMs) return;
    // Before the read: a review meanwhile asks for another one.
    this.loadAtMs = nowMs + this.options.loadEveryMs;
    try {
      this.known = await registry.load();
      this.shownSince.clear();
      this.failing = false;
    } catch (err) {
      if (!this.failing) log.warn({ err }, 'the accounts that ought to be followed could not be read; trying again');
      this.failing = true;
      this.loadAtMs = Number.NEGATIVE_INFINITY;
    }
  }

  private compare(): void {
    const { sources, clock } = this.deps;
    for (const { accountId } of sources.listed())
      for (const stream of this.options.streams)
        this.shownSince.set(keyOf({ stream, accountId }), { stream, accountId });
    const missing = new Map<string, Missing>();
    for (const { stream, accountId, why } of this.expected()) {
      const key = keyOf({ stream, accountId });
      if (missing.has(key)) continue;
      const isFollowed = sources.account(stream, accountId) !== undefined;
      if (isFollowed && sources.standing(accountId)?.unlistedSinceMs === undefined) continue;
      const before = this.missing.get(key);
      const sinceMs = before?.what.sinceMs ?? clock.nowMs();
      const what = { stream, accountId, why: isFollowed ? notListed : why, sinceMs };
      missing.set(key, { what, fromMs: before?.fromMs ?? clock.monotonicMs() });
    }
    this.missing = missing;
    this.show();
  }

  private show(): void {
    const { clock, metrics } = this.deps;
    const nowMs = clock.monotonicMs();
    const before = new Set(this.shown.map(keyOf));
    this.shown = [...this.missing.values()]
      .filter(({ fromMs }) => nowMs - fromMs >= this.options.graceMs)
      .toSorted((a, b) => a.fromMs - b.fromMs)
      .map(({ what }) => what);
    for (const stream of streams)
      metrics.unfollowed.set({ source: stream }, this.shown.filter((each) => each.stream === stream).length);
    this.tell(this.shown.filter((each) => !before.has(keyOf(each))));
  }

  private tell(added: readonly Unfollowed[]): void {
    if (added.length === 0) return;
    const accounts = added.slice(0, named).map(({ stream, accountId, why }) => `${stream} ${accountId}: ${why}`);
    this.deps.log.warn(
      { count: added.length, accounts },
      `${plural(added.length, 'account stream')} that ought to be followed by this process, and not followed: docs/runbooks/AccountsUnfollowed.md`,
    );
  }

  /** May name one twice. */
  private *expected(): Generator<Pick<Unfollowed, 'stream' | 'accountId' | 'why'>> {
    const { sources, isOurs } = this.deps;
    const { streams, only } = this.options;
    const listed = new Set(sources.listed().map(({ accountId }) => accountId));
    const wanted = (accountId: string) => isOurs(accountId) && (only?.has(accountId) ?? true);
    const whyOf = (stream: Stream, accountId: string) => {
      if (!streams.includes(stream)) return 'this process has no address of its stream';
      return listed.has(accountId)
        ? 'a login lists it, and following it fails'
        : 'no login that this process can use lists it';
    };
    for (const each of [this.known, this.shownSince.values()])
      for (const { stream, accountId } of each)
        if (wanted(accountId)) yield { stream, accountId, why: whyOf(stream, accountId) };
    for (const accountId of [...listed, ...(only ?? [])]) {
      if (!wanted(accountId)) continue;
      for (const stream of listed.has(accountId) ? streams : (['account'] as const))
        yield { stream, accountId, why: whyOf(stream, accountId) };
    }
  }
}

function keyOf({ stream, accountId }: AccountStream): string {
  return `${stream}:${accountId}`;
}
