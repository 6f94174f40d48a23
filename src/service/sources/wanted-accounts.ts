import type { Stream } from '../../domain/order.ts';
import { traits } from '../../domain/streams.ts';
import type { AccountsResult } from '../../venue/order-reads.ts';
import { type AccountStanding, concernsWholeAccount } from './account-access.ts';

interface ListedAccount {
  readonly standing: AccountStanding;
  /** Undefined: no list said. */
  readonly isSim: boolean | undefined;
}

/** What one login's lists have said in this term. */
export interface LoginLists {
  /**
   * `part`: each list failed, or had unreadable items. `whole`: one had none, so an account it does
   * not show is not listed.
   */
  readonly said: 'nothing' | 'part' | 'whole';
  /** The venue did not take the login, and no list came since. */
  readonly isRefused?: boolean;
  /** The accounts ever shown, and remembered ones, marked where they are not listed. */
  readonly accounts: ReadonlyMap<string, ListedAccount>;
}

/** The accounts in the database: each was followed once, on these streams. */
type KnownAccounts = ReadonlyMap<string, ReadonlyMap<Stream, unknown>>;

/**
 * A failed list says nothing, and one with unreadable items speaks only about the accounts it
 * shows. An account missing in a whole one is kept, marked so, until a person deletes it from the
 * database. If there is no other login, each account in the database is marked so.
 */
export function noteList(
  before: LoginLists,
  list: AccountsResult,
  { known, isSole }: Pick<FollowInputs, 'known' | 'isSole'>,
  nowMs: number,
): LoginLists {
  const said = before.said === 'nothing' ? 'part' : before.said;
  if (!list.complete)
    return { ...before, said, isRefused: before.isRefused === true || concernsWholeAccount(list.error) };
  const accounts = new Map<string, ListedAccount>(
    list.accounts.map(({ accountId, isSim, ...standing }) => [accountId, { standing, isSim }]),
  );
  if (list.unreadable) return { said, accounts: new Map([...before.accounts, ...accounts]) };
  for (const accountId of [...before.accounts.keys(), ...(isSole ? known.keys() : [])]) {
    const { standing, isSim } = before.accounts.get(accountId) ?? {};
    const unlistedSinceMs = standing?.unlistedSinceMs;
    if (accounts.has(accountId) || (unlistedSinceMs !== undefined && !known.has(accountId))) continue;
    const marked = { ...standing, isOpen: false, unlistedSinceMs: unlistedSinceMs ?? nowMs };
    accounts.set(accountId, { standing: marked, isSim });
  }
  return { said: 'whole', accounts };
}

/** All that decides which accounts are followed. */
export interface FollowInputs {
  /** The first is preferred, or the last: see `wantedAccounts`. */
  readonly logins: ReadonlyMap<string, LoginLists>;
  /** There is one login, and no other is known: each account in the database was its own. */
  readonly isSole: boolean;
  readonly known: KnownAccounts;
  /** The streams of the logins' venue. */
  readonly ofVenue: readonly Stream[];
  /** Those with an address. */
  readonly streams: readonly Stream[];
  /** If given, only these, and each ought to be followed. */
  readonly only?: ReadonlySet<string> | undefined;
  /** Whether this process has the account's shard. */
  readonly isOurs: (accountId: string) => boolean;
  /** By account: the login following it at the moment. */
  readonly now: ReadonlyMap<string, string>;
}

/** An account this process ought to follow. */
export interface WantedAccount {
  /** Undefined: none can. */
  readonly login: string | undefined;
  /** By its lists. */
  readonly standing: AccountStanding | undefined;
  readonly streams: ReadonlySet<Stream>;
}

/**
 * Who ought to be followed, by which login: the accounts in this process's shards if a login lists
 * them, the database has them, or the settings name them. Their status makes no difference: it
 * decides what may be placed, and a restricted or closed account may have open orders.
 *
 * - Each account has at most one login. Two would double its load, and each would open an epoch
 *   when the platform lost its store.
 * - Logins listing it go first, then logins that did so earlier. Between equals, the login
 *   following it now stays: a change costs a complete read. Where a login has one account it is
 *   the newest: a key that was linked after the one of the settings, or in place of another. One
 *   that the venue refuses goes last.
 * - An account never listed in this term is known from an earlier run. It belongs to the only login
 *   there is, or else a login without a whole list tries it: its own subscription checks it.
 * - Where no order names its account, a login follows the one that it lists now, and no other:
 *   it would show its own orders as those of the other account.
 *
 * With its result as `now`, the same inputs give the same result.
 */
export function wantedAccounts(inputs: FollowInputs): Map<string, WantedAccount> {
  const { logins, isSole, known, only, isOurs, now } = inputs;
  const namesAccount = inputs.ofVenue.every((stream) => traits[stream].namesAccount);
  const remembers = (login: string) => {
    if (!namesAccount) return false;
    const said = logins.get(login)?.said;
    return said === 'part' || (isSole && said === 'whole');
  };
  const listing = bestOfLists(inputs, namesAccount);
  const openToAll = inputs.ofVenue.filter((stream) => !traits[stream].enrolls);
  const wanted = new Map<string, WantedAccount>();
  for (const accountId of new Set([...listing.keys(), ...known.keys(), ...(only ?? [])])) {
    if (only?.has(accountId) === false || !isOurs(accountId)) continue;
    const best = listing.get(accountId)?.login;
    const stored = known.get(accountId);
    const login = best ?? (stored && [now.get(accountId) ?? '', ...logins.keys()].find(remembers));
    const standing = logins.get(login ?? '')?.accounts.get(accountId)?.standing;
    const on = [...(stored?.keys() ?? []), ...(best === undefined ? [] : inputs.streams)];
    wanted.set(accountId, { login, standing, streams: new Set(on.length > 0 ? on : openToAll) });
  }
  return wanted;
}

/** By account: the best login listing it, now or earlier. */
function bestOfLists({ logins, now }: FollowInputs, namesAccount: boolean) {
  const best = new Map<string, { readonly login: string; readonly rank: number }>();
  for (const [login, { accounts, isRefused }] of logins)
    for (const [accountId, { standing }] of accounts) {
      const isListed = standing.unlistedSinceMs === undefined;
      if (!namesAccount && !isListed) continue;
      const rank = namesAccount ? (isListed ? 2 : 0) + (now.get(accountId) === login ? 1 : 0) : isRefused ? 0 : 1;
      const { rank: before = -1 } = best.get(accountId) ?? {};
      if (rank > before || (!namesAccount && rank === before)) best.set(accountId, { login, rank });
    }
  return best;
}
