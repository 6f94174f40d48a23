import type { Reason } from '../domain/command.ts';
import type { Stream } from '../domain/order.ts';
import type { ReadBudget } from '../platform/order-reads.ts';

/**
 * How a read ended. Only a `complete` one can show that something is absent, and only for writes made before `startedAtMs`. Everything that it showed has gone
 * through ingest and is committed. `certain`: each of its rows, and everything known of the account, is `certain` (a store that was lost or has a gap shows no
 * absence).
 */
export type ProbeResult =
  | { readonly kind: 'complete'; readonly startedAtMs: number; readonly certain: boolean; readonly shown: readonly string[] }
  | { readonly kind: 'failed'; readonly reason: Reason };

export interface AccountStanding {
  /** We follow it on this stream. */
  readonly known: boolean;
  /** Not followed yet, because the accounts have not been listed since we took the lane. */
  readonly mayAppear?: boolean;
  readonly live: boolean;
  readonly isSim: boolean;
  /** False while the platform's store is lost or has a gap. */
  readonly certain: boolean;
}

/**
 * The reads of an account that the reconciler may ask for. The account has one reader, and they all use it. They write nothing and never reject. `budget`: each
 * request takes from it.
 */
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
   * A complete read of the account's changes, by its one reader. It judges every unresolved command of the account at once. It begins 5 minutes before the newest
   * change that the last complete read showed, or earlier, before `sinceMs` (wall time of the oldest send that it is to judge): an order that a list hid for a
   * while appears later with its old `updatedAt`.
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
