import type { Stream } from '../domain/order.ts';
import type { PlatformError } from './platform-error.ts';
import type { Purpose } from './request-budget.ts';

/** One read's allowed cost, if requests are counted. */
export interface ReadBudget {
  readonly purpose: Purpose;
  /**
   * A request leaves. Never waits: a read already begun is not left half done, and others wait the
   * longer. Left out: its requests are not counted.
   */
  spend?(): void;
  /**
   * Whether a failed request may be made again. False: the read has failed, and its turn comes
   * again.
   */
  mayRepeat(): boolean;
}

export interface ListRequest {
  readonly stream: Stream;
  readonly accountId: string;
  readonly state: 'open' | 'all';
  /**
   * ISO 8601: changed strictly later, or created so, as the stream's lists go. Left out: all.
   */
  readonly after?: string;
  /** Our reference: `clientOrderRef` on prediction orders, `clOrdId` on account orders. */
  readonly reference?: string;
  /** Rows in a page, at most 500; left out: 500. */
  readonly pageRows?: number;
}

/**
 * Whether every page was read. An incomplete list's rows have been handed over all the same (they
 * are true). They prove nothing about orders not among them.
 */
export type ListResult =
  | { readonly complete: true; readonly rows: number }
  | { readonly complete: false; readonly error: PlatformError };

/**
 * A page's rows as they came, still to be decoded one by one: one bad row must not hide the others.
 * `bytes` is the page's text size.
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
   * Its status is the word OPEN, in any case. No other word permits placing, and neither does a
   * missing one.
   */
  readonly isOpen: boolean;
  /** The platform's own word, for people. Left out: it sent none. */
  readonly status?: string;
  /** Left out: the list did not say, so its earlier word still holds. */
  readonly isSim?: boolean;
}

export type AccountsResult =
  /**
   * `unreadable`: items without an id. Each may be any account, so an account missing from such a
   * list is not gone. Each account once.
   */
  | { readonly complete: true; readonly accounts: readonly PlatformAccount[]; readonly unreadable?: number }
  | { readonly complete: false; readonly error: PlatformError };

/** Something happened to an order: a fill, or its bust or correction. */
export interface TouchedOrder {
  readonly orderId: string;
  /** ISO 8601. With an `updatedAt` from then on, the order shows it. */
  readonly at: string;
  /** The quantity filled since, a canonical decimal. Left out: not shown. */
  readonly cumQty?: string;
}

export type TouchedResult =
  /** Each order once, and up to when by the venue's clock. */
  | { readonly kind: 'read'; readonly orders: readonly TouchedOrder[]; readonly upTo: string }
  /** The venue has no such read for this credential. */
  | { readonly kind: 'absent' }
  | { readonly kind: 'failed'; readonly error: PlatformError };

/**
 * A connector's reads. None writes, so they are repeated on 5xx, 429 and broken answers with
 * jittered backoff until their deadline, or as long as `budget` lets them, and once on 401 with a
 * new token. They never reject: a read given up says so.
 */
export interface OrderReads {
  /**
   * All pages, the oldest change (or creation) first. The next page is asked for when `onPage` has
   * resolved: a slow reader slows the list down, in bounded memory.
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
  /**
   * If lists go by creation, none shows a late fill in an order already ended, or a bust. This read
   * names the orders with such news since `after`, ISO 8601. Left out: only an event tells it.
   */
  touchedOrders?(
    request: { readonly stream: Stream; readonly accountId: string; readonly after: string },
    signal: AbortSignal,
    budget?: ReadBudget,
  ): Promise<TouchedResult>;
}
