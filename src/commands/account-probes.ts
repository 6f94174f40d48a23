import type { Reason } from '../domain/command.ts';
import type { Stream } from '../domain/order.ts';
import type { ReadBudget } from '../platform/order-reads.ts';

/**
 * How a read ended. Absence can be read off a `complete` one only, and only for what was done before `startedAtMs`; everything it showed has gone through ingest
 * and is committed. `certain`: no row of it, and nothing known of the account, is other than `certain` (a store that was lost or has a gap shows no absence).
 */
export type ProbeResult =
  | { readonly kind: 'complete'; readonly startedAtMs: number; readonly certain: boolean; readonly shown: readonly string[] }
  | { readonly kind: 'failed'; readonly reason: Reason };

export interface AccountStanding {
  /** Followed by us, on this stream. */
  readonly known: boolean;
  /** Not followed yet, because the accounts have not been listed since the lane is ours. */
  readonly mayAppear?: boolean;
  readonly live: boolean;
  readonly isSim: boolean;
  /** False while the platform's store is lost or has a gap. */
  readonly certain: boolean;
}

/** What the reconciler may ask of an account, through the one reader that it has. Nothing is written by any of these. Never reject. `budget`: each of its requests takes from it. */
export interface AccountProbes {
  standing(stream: Stream, accountId: string): AccountStanding;
  /** The list filtered by our reference. `shown` are the ids of orders that carry it. */
  byReference(
    stream: Stream,
    accountId: string,
    attemptId: string,
    signal: AbortSignal,
    budget?: ReadBudget,
  ): Promise<ProbeResult>;
  /**
   * A complete read of the account's changes, by its one reader: judges every unresolved command of the account at once. It begins 5 minutes before the newest
   * change that the last complete read showed, or before `sinceMs` (wall time of the oldest send that it is to judge) where that is earlier: an order that a list hid
   * for a while comes with the `updatedAt` of then.
   */
  readAccount(
    stream: Stream,
    accountId: string,
    signal: AbortSignal,
    sinceMs?: number,
    budget?: ReadBudget,
  ): Promise<ProbeResult>;
  /** One order. `shown` is empty where the platform answers 404. */
  readOrder(stream: Stream, accountId: string, orderId: string, signal: AbortSignal, budget?: ReadBudget): Promise<ProbeResult>;
}
