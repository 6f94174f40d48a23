import type { Stream } from '../../domain/order.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Service } from '../../runtime/supervisor.ts';
import type { PlatformAccount } from '../../venue/platform/order-reads.ts';
import type { AccountAccess, AccountStanding } from './account-access.ts';
import { AccountsFollower, type AccountsFollowerOptions } from './accounts-follower.ts';
import { Source, type SourceDeps } from './source.ts';
import type { AccountStatus, ConnectionReading, SourceStatus } from './source-status.ts';
import { type StreamTimings, streamTimingDefaults } from './stream-timings.ts';
import { Pace, Window } from './window.ts';

type ConnectorsDeps = Omit<SourceDeps, keyof ReturnType<typeof sharedByAccounts>>;

export interface ConnectorsOptions extends AccountsFollowerOptions {
  /** Whole address of the production stream: account orders. */
  readonly streamUrl: string;
  /** The prediction orders' stream, its whole address. Absent: only account orders are followed. */
  readonly predictionStreamUrl?: string;
  readonly timings?: Partial<StreamTimings>;
  /** How much of the accounts this process follows now, from 0 to 1. Left out: all. */
  readonly part?: () => number;
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

function sharedByAccounts(clock: Clock, part: ConnectorsOptions['part']) {
  return {
    gate: new Window(readsAtOnce),
    troubledGate: new Window(troubledReadsAtOnce),
    doubtPace: new Pace({ clock }, { everyMs: doubtEveryMs, ...(part !== undefined && { part }) }),
  };
}

interface Term {
  readonly sources: readonly Source[];
  readonly stop: AbortController;
  readonly follower: AccountsFollower;
  readonly following: Promise<void>;
}

/**
 * One credential's sources: both streams, for all accounts the platform lists to it.
 *
 * States: idle → working (between `begin` and `end`: the lane is held) → idle … Invariant: only the
 * registry carries anything from one term to the next, since another process may have followed the
 * same accounts in between. When `end` resolves, the term has no socket, read or timer left.
 */
export class Connectors implements Service {
  readonly name = 'connectors';
  private term: Term | undefined;
  private ending: Promise<void> = Promise.resolve();
  private readonly deps: ConnectorsDeps;
  private readonly options: ConnectorsOptions;

  constructor(deps: ConnectorsDeps, options: ConnectorsOptions) {
    this.deps = deps;
    this.options = options;
  }

  /** Nothing to do before the lane is held. */
  async start(): Promise<void> {}

  async drain(_signal: AbortSignal): Promise<void> {
    await this.end();
  }

  /** The lane is ours: connects, and continues by itself. */
  async begin(): Promise<void> {
    if (this.term !== undefined) return;
    const { streamUrl, predictionStreamUrl, part } = this.options;
    const timings = { ...streamTimingDefaults, ...this.options.timings };
    const deps = { ...this.deps, ...sharedByAccounts(this.deps.clock, part) };
    const sources = [new Source(deps, { stream: 'account', url: streamUrl, timings })];
    if (predictionStreamUrl !== undefined)
      sources.push(new Source(deps, { stream: 'prediction', url: predictionStreamUrl, timings }));
    for (const source of sources) source.start();
    const stop = new AbortController();
    const follower = new AccountsFollower(this.deps, sources, this.options);
    this.term = { sources, stop, follower, following: follower.run(stop.signal) };
  }

  /** The lane is lost, or about to be given back: closes everything at once. */
  async end(): Promise<void> {
    const { term } = this;
    if (term !== undefined) {
      this.term = undefined;
      this.ending = this.finish(term);
    }
    // The drain and the lane's loss may both end a term, and the next term may begin as soon as one
    // of their calls has resolved.
    await this.ending;
  }

  /** The accounts that this process follows have changed: see `AccountsFollower.review`. */
  review(): void {
    this.term?.follower.review();
  }

  /**
   * Whether the accounts were listed in this term: before, one not followed yet may be followed
   * later.
   */
  get hasListed(): boolean {
    return this.term?.follower.hasListed ?? false;
  }

  /**
   * The account as other rooms may use it; undefined when it is not followed on that stream, and
   * while the lane is not held.
   */
  account(stream: Stream, accountId: string): AccountAccess | undefined {
    return this.term?.sources.find((source) => source.stream === stream)?.account(accountId);
  }

  /**
   * The platform's word on the account; undefined if it is not followed, or was not listed in this
   * term.
   */
  standing(accountId: string): AccountStanding | undefined {
    return this.term?.follower.standing(accountId);
  }

  /** Opens a stream although no account needs it: see `OwnFitness`. */
  openIdle(): void {
    this.term?.sources[0]?.openIdle();
  }

  /**
   * The accounts of the last complete list, open or not; undefined: there was none in this term.
   */
  get listed(): readonly PlatformAccount[] | undefined {
    return this.term?.follower.newestList;
  }

  /** One entry a stream; empty while the lane is not held. */
  connections(): readonly ConnectionReading[] {
    return this.term?.sources.map((source) => source.connection()) ?? [];
  }

  /** One entry a stream; empty while the lane is not held. */
  status(): readonly SourceStatus[] {
    const { term } = this;
    if (term === undefined) return [];
    const stand = (account: AccountStatus): AccountStatus => {
      const standing = term.follower.standing(account.accountId);
      return standing === undefined ? account : { ...account, standing };
    };
    return term.sources.map((source) => {
      const { accounts, ...rest } = source.status();
      return { ...rest, accounts: accounts.map(stand) };
    });
  }

  private async finish(term: Term): Promise<void> {
    term.stop.abort();
    await Promise.all([term.following, ...term.sources.map((source) => source.stop())]);
    this.options.claims?.releaseAll(term.follower);
  }
}
