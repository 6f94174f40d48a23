import type { Stream } from '../../domain/order.ts';
import type { Logger } from '../../observability/logger.ts';
import type { OrderReads } from '../../venue/order-reads.ts';
import type { TokenSource } from '../../venue/tokens.ts';
import type { Venue } from '../../venue/venue.ts';
import type { AccountAccess, AccountStanding } from './account-access.ts';
import { AccountList } from './account-list.ts';
import {
  AccountsFollower,
  type AccountsFollowerOptions,
  accountsFollowerDefaults,
  type Unfollowed,
} from './accounts-follower.ts';
import { Source, type SourceDeps } from './source.ts';
import type { ConnectionReading, SourceStatus } from './source-status.ts';
import { type StreamTimings, streamTimingDefaults } from './stream-timings.ts';
import { Pace, Window } from './window.ts';

/** One login's way to its venue. */
interface Login {
  readonly venue: Venue;
  readonly reads: OrderReads;
  readonly tokens: TokenSource;
  readonly log: Logger;
}

interface ConnectorsDeps extends Omit<SourceDeps, keyof Login | 'gate' | 'troubledGate' | 'auditGate' | 'doubtPace'> {
  readonly log: Logger;
}

export type StreamUrls = { readonly [stream in Stream]?: string };

/** `ofVenue` left out: the streams with an address. */
export interface ConnectorsOptions extends Partial<Omit<AccountsFollowerOptions, 'streams'>> {
  /** Each stream's whole address. One without is not followed. */
  readonly streamUrls: StreamUrls;
  readonly timings?: Partial<StreamTimings>;
  /** Between two lists of accounts, a third more or less. Default 45 s. */
  readonly everyMs?: number;
  /** Its streams are not offered while it has no login. */
  readonly spare?: boolean;
  /** How much of the accounts this process follows now, from 0 to 1. Left out: all. */
  readonly part?: () => number;
}

/** One login's stream, for `/status`. */
export interface LoginSource extends SourceStatus {
  readonly credential: string;
}

/**
 * Half of the HTTP connections to one origin: single orders and tokens must not wait behind lists.
 */
const readsAtOnce = 8;
/**
 * Ten reads a second for the whole fleet: a thousand orders with fills taken back, two reads each,
 * are right within four minutes.
 */
const doubtEveryMs = 100;

const troubledReadsAtOnce = 2;

/** A login at work. */
interface Working {
  readonly list: AccountList;
  readonly sources: readonly Source[];
  readonly tokens: TokenSource;
  readonly close: () => Promise<unknown>;
}

interface Term {
  readonly working: Map<string, Working>;
  readonly follower: AccountsFollower;
  readonly close: () => Promise<unknown>;
}

/**
 * One venue's logins and their sources: its streams, for the accounts each ought to follow.
 *
 * States: idle → working (between `begin` and `end`: the lane is held) → idle … Invariant: while
 * working each login has its sources, otherwise none. Only the registry carries anything from one
 * term to the next, since another process may have followed the same accounts in between. When
 * `end` resolves, the term has no socket, read or timer left.
 */
export class Connectors {
  private readonly logins = new Map<string, Login>();
  private term: Term | undefined;
  private ending: Promise<unknown> = Promise.resolve();
  private readonly auditGate = new Window(1);
  private readonly deps: ConnectorsDeps;
  private readonly options: ConnectorsOptions;

  constructor(deps: ConnectorsDeps, options: ConnectorsOptions) {
    this.deps = deps;
    this.options = options;
  }

  /** Works at once if the lane is held. */
  add(name: string, login: Login): void {
    this.logins.set(name, login);
    if (this.term !== undefined) this.open(this.term, name, login);
    this.term?.follower.wake();
  }

  /** Resolves when the login has no socket, read or timer left. */
  async remove(name: string): Promise<void> {
    this.logins.delete(name);
    const working = this.term?.working.get(name);
    if (working === undefined) return;
    this.term?.working.delete(name);
    // Its sessions may have updated their accounts' records.
    this.term?.follower.review();
    this.ending = Promise.all([this.ending, working.close()]);
    await this.ending;
  }

  /** The lane is ours: connects, and continues by itself. */
  async begin(): Promise<void> {
    if (this.term !== undefined) return;
    const { deps, options } = this;
    const working = new Map<string, Working>();
    const follower = new AccountsFollower(
      { ...deps, logins: working },
      { ...accountsFollowerDefaults, ofVenue: withAddress(options), ...options, streams: withAddress(options) },
    );
    const stop = new AbortController();
    const following = follower.run(stop.signal);
    const close = async () => {
      stop.abort();
      await Promise.all([following, ...[...working.values()].map((login) => login.close())]);
    };
    this.term = { working, follower, close };
    for (const [name, login] of this.logins) this.open(this.term, name, login);
  }

  /** The lane is lost, or about to be given back: closes everything at once. */
  async end(): Promise<void> {
    const { term } = this;
    this.term = undefined;
    // The drain and the lane's loss may both end a term, and the next term may begin as soon as one
    // of their calls has resolved.
    this.ending = Promise.all([this.ending, term?.close()]);
    await this.ending;
  }

  /** The accounts that this process follows have changed: see `AccountsFollower.review`. */
  review(): void {
    this.term?.follower.review();
  }

  /** See `FollowedAccounts`. */
  get streams(): readonly Stream[] {
    if (this.options.spare === true && this.logins.size === 0) return [];
    return this.options.ofVenue ?? withAddress(this.options);
  }

  /** See `FollowedAccounts`. */
  get hasListed(): boolean {
    return this.term?.follower.hasListed ?? false;
  }

  /** The venue's streams, while its accounts are not known; none while the lane is not held. */
  get unlisted(): readonly Stream[] {
    return this.term?.follower.knowsNone === true ? withAddress(this.options) : [];
  }

  /** The streams that ought to be followed and are not; none while the lane is not held. */
  get unfollowed(): readonly Unfollowed[] {
    return this.term?.follower.unfollowed ?? [];
  }

  /**
   * The account as other rooms may use it; undefined when it is not followed on that stream, and
   * while the lane is not held.
   */
  account(stream: Stream, accountId: string): AccountAccess | undefined {
    return this.followerOf(accountId)
      ?.sources.find((source) => source.stream === stream)
      ?.account(accountId);
  }

  /** By the login following the account: another may see it, and not be allowed to trade. */
  tokensFor(accountId: string): TokenSource | undefined {
    return this.followerOf(accountId)?.tokens;
  }

  /**
   * The platform's word on the account; undefined if it is not followed on that stream, or was not
   * listed in this term.
   */
  standing(stream: Stream, accountId: string): AccountStanding | undefined {
    if (this.account(stream, accountId) === undefined) return undefined;
    return this.followerOf(accountId)?.list.lists.accounts.get(accountId)?.standing;
  }

  /** Opens a stream although no account needs it: see `OwnFitness`. */
  openIdle(): void {
    for (const { sources } of this.working) sources[0]?.openIdle();
  }

  /** One entry for each login and stream; empty while the lane is not held. */
  connections(): readonly ConnectionReading[] {
    return this.working.flatMap(({ sources }) => sources.map((source) => source.connection()));
  }

  /** One entry for each login and stream; empty while the lane is not held. */
  status(): readonly LoginSource[] {
    return [...(this.term?.working ?? [])].flatMap(([credential, { sources, list }]) =>
      sources.map((source) => {
        const { accounts, ...rest } = source.status();
        const stood = accounts.map((account) => {
          const standing = list.lists.accounts.get(account.accountId)?.standing;
          return standing === undefined ? account : { ...account, standing };
        });
        return { credential, ...rest, accounts: stood };
      }),
    );
  }

  private get working(): readonly Working[] {
    return [...(this.term?.working.values() ?? [])];
  }

  private followerOf(accountId: string): Working | undefined {
    return this.working.find(({ sources }) => sources.some(({ followed }) => followed.has(accountId)));
  }

  private open({ working, follower }: Term, name: string, login: Login): void {
    const { options } = this;
    const { clock, random } = this.deps;
    const timings = { ...streamTimingDefaults, ...options.timings };
    const shared = {
      ...this.deps,
      ...login,
      gate: new Window(readsAtOnce),
      troubledGate: new Window(troubledReadsAtOnce),
      auditGate: this.auditGate,
      doubtPace: new Pace({ clock }, { everyMs: doubtEveryMs, part: options.part }),
    };
    const sources = Object.entries(options.streamUrls).map(
      ([stream, url]) => new Source(shared, { stream: stream as Stream, url, timings }),
    );
    for (const source of sources) source.start();
    const list = new AccountList({ clock, random, ...login, follower }, options.everyMs ?? 45_000);
    const stop = new AbortController();
    const listing = list.run(stop.signal);
    const close = () => {
      stop.abort();
      return Promise.all([listing, ...sources.map((source) => source.stop())]);
    };
    working.set(name, { list, sources, tokens: login.tokens, close });
  }
}

function withAddress({ streamUrls }: ConnectorsOptions): readonly Stream[] {
  return Object.keys(streamUrls) as Stream[];
}
