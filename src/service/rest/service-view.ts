import type { FleetDocument } from '../../contract/fleet-answer.ts';
import type { ConsumersDocument, HistoryDocument } from '../../contract/pipeline-answers.ts';
import type { StatusDocument } from '../../contract/status-answer.ts';
import type { AccountScope } from '../../store/orders/order-reads.ts';

export type ConsumersAnswer =
  | { readonly kind: 'read'; readonly consumers: ConsumersDocument }
  | { readonly kind: 'unavailable' };

/**
 * The knowledge of the service about itself, for operators: of this process alone, but for the
 * fleet. No call rejects, but for that.
 */
export interface ServiceView {
  /** Whether commands may be given (`TIDEMARK_COMMANDS`). */
  readonly commands: 'on' | 'off';
  /** Of this process alone, as a caller of this scope may see it; from memory. */
  status(scope: AccountScope): Promise<StatusDocument>;
  /**
   * The samples after `sinceMs` (wall time), or all that are
   * kept; from memory. They name no account.
   */
  history(sinceMs: number | undefined): HistoryDocument;
  /** Asked of Kafka at most each few seconds, with a deadline. They name no account. */
  consumers(): Promise<ConsumersAnswer>;
  /** Read from the database. Rejects when that can't be reached. It names no account. */
  fleet(): Promise<FleetDocument>;
}
