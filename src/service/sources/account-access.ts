import type { Stream } from '../../domain/order.ts';
import type { CompleteRead } from '../../domain/presumed-absent.ts';
import type { ReadBudget } from '../../venue/order-reads.ts';
import type { PlatformError } from '../../venue/platform-error.ts';

/**
 * A look at an account, at its end. Every order it showed was offered as a probe and is committed.
 * An order it did not show was not there at `startedAtMs` (wall time), as far as the platform knew.
 * `certain`: all its rows are `certain`, and all we know about the account. `shown`: order ids.
 * `working`: those of them that it calls not ended, whatever our state of them is.
 */
export interface CompleteLook extends CompleteRead {
  readonly complete: true;
  readonly shown: readonly string[];
  readonly working?: readonly string[];
  /** Where a look is uncertain by single rows alone: their orders. */
  readonly uncertain?: readonly string[];
  /** Views in `shown`, seemingly from another order than the stored one (`isAnotherOrder`). */
  readonly reused?: ReadonlySet<string>;
}

/** How one look at an account ended. One that failed shows neither an order nor its absence. */
export type AccountLook = CompleteLook | Incomplete;

export interface Incomplete {
  readonly complete: false;
  readonly error: PlatformError;
}

export function incomplete(error: PlatformError): Incomplete {
  return { complete: false, error };
}

/**
 * Looks for other rooms at an account we follow, on one stream. They do not wait for the account's
 * lists, write nothing, and never reject. Each request takes from `budget`.
 */
/** From where on a look has to show all changes: the earlier of the two. */
export interface LookSince {
  /** Wall time, by our clock. */
  readonly atMs: number;
  /** So long ago, by the platform's own clock, which may differ from ours by hours. */
  readonly agoMs?: number;
}

export interface AccountAccess {
  readonly live: boolean;
  /**
   * False while the platform's store is lost, or has a gap that no complete read has closed yet.
   */
  readonly certain: boolean;
  readonly isSim: boolean;
  /** The platform takes no prediction orders of it; asked again every hour. */
  readonly notEnrolled: boolean;
  /**
   * The list filtered by our reference, over orders at any age. `shown`: only those with it, since
   * a platform may ignore the filter.
   */
  lookFor(reference: string, signal: AbortSignal, budget?: ReadBudget): Promise<AccountLook>;
  /**
   * All orders changed since the last complete read, or since an earlier moment, and every order we
   * hold open. A list may hide an order for a while, and then show it with its old time. So a look
   * for commands begins at their oldest send.
   */
  lookAtAll(since: LookSince | undefined, signal: AbortSignal, budget?: ReadBudget): Promise<AccountLook>;
  /**
   * The platform's own list of open orders, whole. `shown`: the orders it calls open, also those we
   * believe ended.
   */
  lookAtOpen(signal: AbortSignal, budget?: ReadBudget): Promise<AccountLook>;
  /** One order; `shown` is empty where there is none. */
  lookAt(orderId: string, signal: AbortSignal, budget?: ReadBudget): Promise<AccountLook>;
  /**
   * Called before a write leaves. Returns a function for the order in its answer; it takes none
   * once the platform's store was lost in between. `row`: undefined if the answer shows none.
   * `unnamed`: the answer names this order by its id alone, without the write's reference. It is
   * read at once if the answer does not show it.
   */
  expectReply(): (row: unknown, unnamed?: UnnamedOrder) => void;
}

/** An order whose reference we know from its write, and from no row. */
export interface UnnamedOrder {
  readonly orderId: string;
  readonly reference: string;
}

/** What the platform's lists say of an account. */
export interface AccountStanding {
  /** The newest list calls it OPEN: nothing else permits placing. */
  readonly isOpen: boolean;
  /** The platform's word when it was listed last. Left out: it gave none. */
  readonly status?: string;
  /** Wall time in milliseconds: since then no complete list has shown it. */
  readonly unlistedSinceMs?: number;
}

/** The accounts we follow. */
export interface FollowedAccounts {
  /** Those of the venues that are followed. */
  readonly streams: readonly Stream[];
  /**
   * Every credential has listed its accounts since the lane is ours: before, an
   * account that is not followed may yet be.
   */
  readonly hasListed: boolean;
  /** The account on one stream; undefined where it is not followed. */
  account(stream: Stream, accountId: string): AccountAccess | undefined;
  /** Undefined where it is not followed, or no list has shown it since the start. */
  standing(stream: Stream, accountId: string): AccountStanding | undefined;
}

/**
 * Reasons why a read of ours proves nothing, other than the platform's
 * own answers. Each read may be made again.
 */

export const givenUp: PlatformError = {
  code: 'NO_ANSWER',
  message: 'given up: by the one who asked, or because the account left its connection',
  retryable: true,
  sent: 'maybe',
};

export const storeIsLost: PlatformError = {
  code: 'STORE_LOST',
  message: 'the platform lost its store, and has not been read whole since',
  retryable: true,
  sent: 'no',
};

export const unclear: PlatformError = {
  code: 'BAD_ANSWER',
  message: 'a row cannot be read, or is of a store that was lost: it shows no absence',
  retryable: true,
  sent: 'yes',
};

export const noRoom: PlatformError = {
  code: 'NO_ROOM',
  message:
    'no memory was left to note what the stream brought meanwhile (TIDEMARK_NOTES_MAX_BYTES): silent losses were not looked for',
  retryable: true,
  sent: 'yes',
};

/** The lane ended, or the database could not be reached. The read can safely be repeated. */
export function notCommitted(error: unknown): PlatformError {
  const message = error instanceof Error ? error.message : String(error);
  return { code: 'STORE_UNAVAILABLE', message, retryable: true, sent: 'yes' };
}

/** A longer Retry-After counts as this: the token's may be over long before it says. */
const mostRestMs = 60_000;

/** How long the platform asks to be left alone; 0 if it does not. */
export function restAskedMs({ retryAfterMs = 0 }: PlatformError): number {
  return Math.min(mostRestMs, retryAfterMs);
}

/** The account as a whole, or our credential, is refused. */
export function concernsWholeAccount({ status, code }: PlatformError): boolean {
  return status === 401 || status === 403 || code === 'LOGIN_REQUIRED';
}
