import type { Stream } from '../../domain/order.ts';
import type { CompleteRead } from '../../domain/presumed-absent.ts';
import type { ReadBudget } from '../../venue/platform/order-reads.ts';
import type { PlatformError } from '../../venue/platform/platform-error.ts';

/**
 * A look at an account that came to its end: every order that it showed was offered as a probe and
 * is committed, and an order that it did not show was not there at `startedAtMs` (wall time), as
 * far as the platform knew. `certain`: every row of it, and everything known of the account, is
 * `certain`. `shown`: ids of orders.
 */
export interface CompleteLook extends CompleteRead {
  readonly complete: true;
  readonly shown: readonly string[];
}

/** How one look at an account ended. One that failed shows neither an order nor its absence. */
export type AccountLook = CompleteLook | { readonly complete: false; readonly error: PlatformError };

/**
 * The looks that other rooms may ask of an account that we follow, on one
 * stream. They do not wait for the account's lists, write nothing, and never
 * reject. Each of their requests takes from `budget`.
 */
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
   * The list filtered by our reference, over orders of any age. `shown`: orders that carry it: a
   * platform may ignore the filter.
   */
  lookFor(reference: string, signal: AbortSignal, budget?: ReadBudget): Promise<AccountLook>;
  /**
   * All orders that changed since the last complete read, or since `sinceMs` (wall time) where that
   * is earlier, and every order that we hold open. An order that a list hid for a while appears
   * with its old time: a look that is to judge commands begins at the oldest of their sends.
   */
  lookAtAll(sinceMs: number | undefined, signal: AbortSignal, budget?: ReadBudget): Promise<AccountLook>;
  /**
   * The platform's own list of open orders, whole. `shown`: the orders that it calls open, also
   * those that we believe ended.
   */
  lookAtOpen(signal: AbortSignal, budget?: ReadBudget): Promise<AccountLook>;
  /** One order; `shown` is empty where there is none. */
  lookAt(orderId: string, signal: AbortSignal, budget?: ReadBudget): Promise<AccountLook>;
  /**
   * Called before a write leaves. Returns a function that takes the order shown by its answer,
   * unless the platform's store was lost in between. `row`: undefined where the answer shows none.
   * `unnamed`: the order that the answer names by its id alone, without the reference that the
   * write gave it; it is read at once where the answer does not show it.
   */
  expectReply(): (row: unknown, unnamed?: UnnamedOrder) => void;
}

/** An order whose reference is known from the write that placed it, and from no row. */
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

/** The accounts that we follow. */
export interface FollowedAccounts {
  /**
   * Every credential has listed its accounts since the lane is ours: before, an
   * account that is not followed may yet be.
   */
  readonly hasListed: boolean;
  /** The account on one stream; undefined where it is not followed. */
  account(stream: Stream, accountId: string): AccountAccess | undefined;
  /** Undefined where it is not followed, or no list has shown it since the start. */
  standing(accountId: string): AccountStanding | undefined;
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

/** The account as a whole, or our credential, is refused. */
export function concernsWholeAccount({ status, code }: PlatformError): boolean {
  return status === 401 || status === 403 || code === 'LOGIN_REQUIRED';
}
