import type { Stream } from '../domain/order.ts';
import type { Absence } from './absent-orders.ts';

/**
 * - `connecting`: no connection yet, or not subscribed on it. `down`: the last attempt failed, the next one waits.
 * - `unanswered`: connected, and the subscription of this account alone is not answered; asked again after 5 s to a minute.
 * - `resyncing`: subscribed, and a complete read that began after that is under way.
 * - `live`: that read has gone through ingest.
 * - `frozen`: the platform lost its store; orders wait until the new one has been read whole.
 * - `not_enrolled`: no prediction orders on this account; asked again hourly. Not a fault.
 * - `login_required`: the credential is refused, as a whole or for this account. A person has to act.
 */
export const accountStates = [
  'connecting',
  'down',
  'unanswered',
  'resyncing',
  'live',
  'frozen',
  'not_enrolled',
  'login_required',
] as const;
export type AccountState = (typeof accountStates)[number];

/** For `/status`. Times are wall time, milliseconds since the epoch. */
export interface AccountStatus {
  readonly accountId: string;
  readonly state: AccountState;
  readonly sinceMs: number;
  readonly sourceEpoch: number;
  /** Orders, and gaps, of which the stream brought something that could not be taken and has not been read since: "complete up to" waits for them. */
  readonly unrecovered: number;
  /** Orders that wait to be read once more from REST: fills may have been taken back, or the order is in conflict with itself. */
  readonly inDoubt: number;
  /** Orders that we hold open and that the platform does not know. */
  readonly absent: readonly Absence[];
  readonly lastEventMs?: number;
  readonly lastResyncMs?: number;
  readonly lastAuditMs?: number;
  readonly lastError?: string;
}

export interface SourceStatus {
  readonly stream: Stream;
  readonly connected: boolean;
  readonly paused: boolean;
  readonly lastFrameMs?: number;
  readonly lastEventMs?: number;
  /** Why the last connection ended. */
  readonly lastEnd?: { readonly atMs: number; readonly reason: string; readonly detail: string };
  readonly accounts: readonly AccountStatus[];
}
