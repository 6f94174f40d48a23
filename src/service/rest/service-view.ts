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
