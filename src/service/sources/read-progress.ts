import type { Cause, Observation, Outcome } from '../../domain/observation.ts';
import type { ReadBudget } from '../../venue/platform/order-reads.ts';
import type { PlatformError } from '../../venue/platform/platform-error.ts';

/**
 * `resync`: as fast as possible, before an account is live. `audit`: in the background, at a low
 * rate. `complete`: every order there is, also those that were read before (a lost store). `probe`:
 * for commands that wait for news.
 */
export type ReadKind = 'resync' | 'audit' | 'complete' | 'probe';

export type ReadOutcome =
  | {
      readonly complete: true;
      readonly rows: number;
      /** Wall time at which it began. */
      readonly startedMs: number;
      /** Every row of it was `certain`. */
      readonly certain: boolean;
      /**
       * The orders that it showed. Only for a probe: other reads may show a million orders, and
       * have no use for the list.
       */
      readonly shown: readonly string[];
    }
  | { readonly complete: false; readonly error: PlatformError };

/** The state of one read so far. */
export interface ReadProgress {
  readonly kind: ReadKind;
  readonly cause: Extract<Cause, 'snapshot' | 'probe'>;
  /** Wall time, milliseconds since the epoch. */
  readonly startedMs: number;
  /** `RowIntake.mark` at its beginning. */
  readonly storeMark: number;
  readonly signal: AbortSignal;
  /** The budget for its requests. Undefined: they are not counted. */
  readonly budget: ReadBudget | undefined;
  /**
   * It asks for the open orders that its lists do not show. Other audits ask only for those whose
   * last answer was "no such order".
   */
  readonly asksSilent: boolean;
  /** For the rows of an audit, and of a read that makes the account live. */
  readonly onOutcome: ((observation: Observation, outcome: Outcome) => void) | undefined;
  /**
   * Orders that were shown and are not terminal: an order shown as terminal goes through ingest and
   * is then no longer open. Kept only where silent orders are asked for.
   */
  readonly shownOpen: Set<string>;
  readonly shown: string[];
  rows: number;
  /**
   * Orders whose rows could not be read: any of them may be the one that is looked
   * for. Undefined stands for rows that name no order, are of another account, or
   * came from a store that was lost meanwhile.
   */
  readonly unread: Set<string | undefined>;
  certain: boolean;
  highest: string | undefined;
}
