import type { Stream } from '../../domain/order.ts';
import type { OrderSelection, Selectable } from '../../domain/select-orders.ts';
import type { Fence } from './term.ts';

export interface OpenOrder {
  readonly stream: Stream;
  readonly orderId: string;
  /** As the order's (`Order.incarnation`). */
  readonly incarnation?: number;
}

export interface OrderOfAccount extends OpenOrder {
  readonly accountId: string;
  /**
   * Listed as the platform shows it, whichever order that is. Otherwise the cancel is for the
   * stored one alone, and for none that got its id since.
   */
  readonly asShown?: true;
  /** It had ended here when it was listed, and the platform showed it open. */
  readonly ended?: true;
}

/** The orders a cancel-all covers. */
export interface CancelAllSelection extends OrderSelection {
  /** Absent: every account in the shard. */
  readonly accountId?: string;
}

/** A place without a known order yet. */
export interface PlaceOfAccount {
  readonly accountId: string;
  readonly stream: Stream;
  readonly commandId: string;
}

/** An account on one stream. It may have open orders we do not know. */
export interface UnreadAccount {
  readonly accountId: string;
  readonly stream: Stream;
  readonly code: 'NOT_LIVE' | 'NOT_READ' | 'UNCERTAIN';
  readonly message: string;
}

/** The fate of a listed place's order if it lands while the cancel-all is in force. */
export type OnLanding = 'cancel' | 'leave';

/**
 * The orders and places a cancel-all has to cancel. Written before the first cancel, and never
 * changed. It is then in force, over restarts and takeovers, until its orders have their cancels
 * and its places are resolved.
 */
export interface NewCancelAll {
  readonly cancelAllId: string;
  readonly principal: string;
  readonly idempotencyKey: string;
  readonly requestHash: string;
  readonly selection: CancelAllSelection;
  readonly reason: string;
  readonly onLanding: OnLanding;
  readonly orders: readonly OrderOfAccount[];
  readonly places: readonly PlaceOfAccount[];
  readonly unread: readonly UnreadAccount[];
  /** Accounts with nothing to cancel, and why. */
  readonly declined: readonly { readonly accountId: string; readonly code: string; readonly message: string }[];
  readonly atMs: number;
}

export type OpenCancelAllResult =
  /** `replayed`: the cancel-all already has the key, with its own list. Nothing was written. */
  | { readonly kind: 'opened' | 'replayed'; readonly cancelAll: NewCancelAll }
  /** The same key with another scope or reason. Nothing was written. */
  | { readonly kind: 'key_reused' }
  | { readonly kind: 'fenced' };

/**
 * The key for one cancel: by the order's index in the list, or by the command that placed the
 * order. `left`: processes that have left it unsent.
 */
export function keyOfCancel({ cancelAllId }: NewCancelAll, of: number | string, left = 0): string {
  return `cancel-all:${cancelAllId}:${of}${left === 0 ? '' : `:${left}`}`;
}

/** The part of the journal that keeps cancel-alls, and finds the orders that they list. */
export interface CancelAllJournal {
  /** One account's open orders, both streams, by (stream, orderId), from above `after`. */
  openOrders(accountId: string, after: OpenOrder | undefined, limit: number): Promise<(OpenOrder & Selectable)[]>;
  /**
   * These orders in the account, in any state, with the fields they are selected by. Orders that
   * are not stored are left out.
   */
  namedOrders(accountId: string, orders: readonly OpenOrder[]): Promise<(OpenOrder & Selectable)[]>;
  /** Places in these accounts that are not final and have no known order. */
  unseenPlaces(accountIds: readonly string[]): Promise<(PlaceOfAccount & Selectable)[]>;
  /**
   * Opens one cancel-all with its list. Its key is unique only among the shard's cancel-alls. The
   * key is held until the cancel-all is no longer in force, its cancels are final, and it is seven
   * days old.
   */
  openCancelAll(cancelAll: NewCancelAll, fence: Fence): Promise<OpenCancelAllResult>;
  /** The shard's cancel-all that holds this key, as `openCancelAll` sees it. */
  findCancelAll(shard: number, principal: string, idempotencyKey: string): Promise<NewCancelAll | undefined>;
  /** The shard's cancel-alls in force, oldest first. */
  cancelAllsInForce(shard: number): Promise<NewCancelAll[]>;
  /** The cancel-all is no longer in force. A second call changes nothing. False: fenced. */
  endCancelAll(cancelAllId: string, atMs: number, fence: Fence): Promise<boolean>;
}
