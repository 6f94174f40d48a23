import type { Cause } from '../../domain/observation.ts';
import type { ReadBudget, TouchedOrder } from '../../venue/order-reads.ts';
import type { Incomplete } from './account-access.ts';
import type { OnRowResult } from './row-intake.ts';

/**
 * `resync`: as fast as possible, before an account is live. `audit`: in the background, at a low
 * rate. `complete`: every order there is, also those that were read before (a lost store). `probe`:
 * for commands that wait for news.
 */
export type ReadKind = 'resync' | 'audit' | 'complete' | 'probe';

export type AccountReadResult =
  | ({ readonly complete: true } & Readonly<
      Pick<ReadProgress, 'rows' | 'startedMs' | 'certain' | 'shown' | 'working' | 'uncertain'>
    >)
  | Incomplete;

/** The state of one read so far. */
export interface ReadProgress {
  readonly kind: ReadKind;
  readonly cause: Extract<Cause, 'snapshot' | 'probe'>;
  /** Wall time, milliseconds since the epoch. */
  readonly startedMs: number;
  /** The same, monotonic. */
  readonly beganMs: number;
  /** `RowIntake.mark` at its beginning. */
  readonly storeMark: number;
  readonly signal: AbortSignal;
  /** The budget for its requests. Undefined: they are not counted. */
  readonly budget: ReadBudget | undefined;
  /**
   * It asks for open orders its lists do not show. Other audits ask only for those with "no such
   * order" as their last answer.
   */
  readonly asksSilent: boolean;
  /** For an audit's rows, and for a read to make the account live. */
  readonly onResult: OnRowResult | undefined;
  /**
   * Orders that were shown and are not terminal: an order shown as terminal goes through ingest and
   * is then no longer open. Kept only where silent orders are asked for.
   */
  readonly shownOpen: Set<string>;
  /** By id: something happened to them, and no row has shown them since that was read. */
  readonly touched: Map<string, TouchedOrder>;
  /** More of them are unknown here than one read asks for. */
  isTouchedLeft: boolean;
  /**
   * The orders it showed. Only for a probe: other reads may show a million orders, and have no use
   * for the list.
   */
  readonly shown: string[];
  /** Those of `shown` that have not ended. */
  readonly working: string[];
  /** Those of `shown` whose rows were not `certain`. */
  readonly uncertain: string[];
  rows: number;
  /**
   * Orders with an unreadable row: any may be the one we look for. Undefined stands for rows
   * without an order, from another account, or from a store lost meanwhile.
   */
  readonly unread: Set<string | undefined>;
  /** Every row of it was `certain`. */
  certain: boolean;
  highest: string | undefined;
}
