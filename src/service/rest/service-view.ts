import type { FleetDocument } from '../../contract/fleet-answer.ts';
import type { ConsumersDocument, HistoryDocument } from '../../contract/pipeline-answers.ts';
import type { StatusDocument } from '../../contract/status-answer.ts';
import type { Stream } from '../../domain/order.ts';
import type { AccountScope } from '../../store/orders/order-reads.ts';

export type ConsumersAnswer =
  | { readonly kind: 'read'; readonly consumers: ConsumersDocument }
  | { readonly kind: 'unavailable' };

/**
 * The service's knowledge about itself, for operators. It covers this process alone, except for the
 * fleet. No call rejects, except for that one.
 */
export interface ServiceView {
  /** Whether commands may be given (`TIDEMARK_COMMANDS`). */
  readonly commands: 'on' | 'off';
  /** Of the venues that are followed. */
  readonly streams: readonly Stream[];
  /** This process's status, as a caller with this scope may see it; up to half a second old. */
  status(scope: AccountScope): Promise<StatusDocument>;
  /**
   * The samples after `sinceMs` (wall time), or all kept ones; from memory. They name no account.
   */
  history(sinceMs: number | undefined): HistoryDocument;
  /** Kafka is asked at most each few seconds, with a deadline. They name no account. */
  consumers(): Promise<ConsumersAnswer>;
  /** Read from the database. Rejects when that can't be reached. It names no account. */
  fleet(): Promise<FleetDocument>;
}

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
