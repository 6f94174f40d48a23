import type { Stream } from '../../domain/order.ts';
import type { PlatformError } from './platform-error.ts';
import type { ListState } from './wire/order-pages.ts';

/** The cost that one read may have, where requests are counted. */
export interface ReadBudget {
  /**
   * A request leaves. Never waits: a read that has begun is not
   * left half done, and others wait the longer.
   */
  spend(): void;
  /**
   * Whether a request that failed may be made again. False: the
   * read has failed, and its turn comes again.
   */
  mayRepeat(): boolean;
}

export interface ListRequest {
  readonly stream: Stream;
  readonly accountId: string;
  readonly state: ListState;
  /** ISO 8601; strictly later than. Left out: all. */
  readonly updatedAfter?: string;
  /** Our reference: `clientOrderRef` of prediction orders, `clOrdId` of account orders. */
  readonly reference?: string;
  /** Rows of a page, at most 500, which it is when left out. */
  readonly pageRows?: number;
}

/**
 * Whether every page was read. Rows of an incomplete list have been handed over all the same (they
 * are true), but prove nothing about orders that were not among them.
 */
export type ListResult =
  | { readonly complete: true; readonly rows: number }
  | { readonly complete: false; readonly error: PlatformError };

/**
 * A page's rows as they came, one by one still to be decoded: one bad row must not hide the others.
 * `bytes` is the size of the page's text.
 */
export interface Page {
  readonly rows: readonly unknown[];
  readonly bytes: number;
}

export type GetResult =
  | { readonly kind: 'found'; readonly row: unknown; readonly bytes: number }
  /** 404. Proves nothing about an order created or touched after the read began. */
  | { readonly kind: 'absent' }
  | { readonly kind: 'failed'; readonly error: PlatformError };

/** An account of the signed-in user or client (specification, "User account item"). */
export interface PlatformAccount {
  readonly accountId: string;
  /**
   * Its status is the word OPEN, in any case: nothing else, and
   * no word that is left out, permits placing.
   */
  readonly isOpen: boolean;
  /** The platform's own word, for people. Left out: it sent none. */
  readonly status?: string;
  /** Left out: the list did not say, which changes nothing that it said before. */
  readonly isSim?: boolean;
}

export type AccountsResult =
  /**
   * `unreadable`: items without an id. Each may be any account, so an account that such a list does
   * not show is not gone. Each account once.
   */
  | { readonly complete: true; readonly accounts: readonly PlatformAccount[]; readonly unreadable?: number }
  | { readonly complete: false; readonly error: PlatformError };

/**
 * The reads of a connector. None of them writes, so they are repeated on 5xx, 429 and broken
 * answers with jittered backoff until their deadline, or as long as `budget` lets them, and once on
 * 401 with a new token. They never reject: a read that was given up says so.
 */
export interface OrderReads {
  /**
   * All pages, oldest change first. The next page is asked for when `onPage` has resolved: a slow
   * reader slows the list down, in bounded memory.
   */
  listOrders(
    request: ListRequest,
    onPage: (page: Page) => Promise<void>,
    signal: AbortSignal,
    budget?: ReadBudget,
  ): Promise<ListResult>;
  getOrder(
    stream: Stream,
    accountId: string,
    orderId: string,
    signal: AbortSignal,
    budget?: ReadBudget,
  ): Promise<GetResult>;
  listAccounts(signal: AbortSignal): Promise<AccountsResult>;
}
