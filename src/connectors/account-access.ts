import type { PlatformError } from '../platform/platform-error.ts';
import type { ReadBudget } from '../runtime/read-budget.ts';

/**
 * How one look at an account ended. Complete: everything that it showed was offered as a probe and is committed, and what it did not show was not there at
 * `startedMs` (wall time), as far as the platform knew. `certain`: no row of it, and nothing known of the account, is other than `certain`.
 */
export type AccountLook =
  | { readonly complete: true; readonly startedMs: number; readonly certain: boolean; readonly shown: readonly string[] }
  | { readonly complete: false; readonly error: PlatformError };

/** What others may ask of an account that we follow, on one stream. Its looks wait for none of the account's lists, write nothing, and never reject. */
export interface AccountAccess {
  readonly live: boolean;
  /** False while the platform's store is lost, or has a gap that no complete read has closed yet. */
  readonly certain: boolean;
  readonly isSim: boolean;
  /** The list filtered by our reference, whatever its age. `shown` are orders that carry it: a platform may ignore the filter. */
  lookFor(reference: string, signal: AbortSignal, budget?: ReadBudget): Promise<AccountLook>;
  /** Everything that changed since the last complete read, or since `sinceMs` (wall time) where that is earlier, and every order that we hold open. */
  lookAtAll(sinceMs: number | undefined, signal: AbortSignal, budget?: ReadBudget): Promise<AccountLook>;
  /** One order; `shown` is empty where there is none. */
  lookAt(orderId: string, signal: AbortSignal, budget?: ReadBudget): Promise<AccountLook>;
  /** Called before a write leaves: takes the order that its answer shows, unless the platform's store was lost in between. */
  expectReply(): (row: unknown) => void;
}
