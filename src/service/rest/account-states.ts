import type { Stream } from '../../domain/order.ts';

/**
 * An account that this process follows, on one stream. Times are wall time, milliseconds since the
 * epoch.
 */
export interface FollowedAccount {
  readonly stream: Stream;
  readonly accountId: string;
  readonly state: string;
  readonly sinceMs: number;
  readonly lastEventMs?: number;
  /** The last complete read after a connection. */
  readonly lastResyncMs?: number;
  readonly lastAudit?: {
    readonly atMs: number;
    readonly orders: number;
    readonly changes: number;
    readonly silentLosses: number;
  };
  readonly silentLosses: number;
  /** It may name any account on the same connection (`beside`). */
  readonly lastError?: string;
  readonly beside: readonly string[];
  /** Left out: none of the platform's lists has shown it yet. */
  readonly standing?: { readonly isOpen: boolean; readonly status?: string; readonly unlistedSinceMs?: number };
  /** The expiry of its credential's token. Left out while there is no usable token. */
  readonly tokenExpiresMs?: number;
}

/**
 * The accounts as their follower knows them. Undefined: this process stands by, so another one
 * follows them.
 */
export type AccountStates = () => readonly FollowedAccount[] | undefined;
