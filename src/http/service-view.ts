import type { ConsumersDocument, HistoryDocument } from '../schema/pipeline-answers.ts';
import type { StatusDocument } from '../schema/status-answer.ts';
import type { AccountScope } from '../store/order-reads.ts';

export type ConsumersAnswer = { readonly kind: 'read'; readonly consumers: ConsumersDocument } | { readonly kind: 'unavailable' };

/** The knowledge of the service about itself, for operators: of this process alone. No call rejects. */
export interface ServiceView {
  /** Whether commands may be given (`TIDEMARK_COMMANDS`). */
  readonly commands: 'on' | 'off';
  /** As a caller of this scope may see it; from memory. */
  status(scope: AccountScope): Promise<StatusDocument>;
  /** The samples after `sinceMs` (wall time), or all that are kept; from memory. They name no account. */
  history(sinceMs: number | undefined): HistoryDocument;
  /** Asked of Kafka at most each few seconds, with a deadline. They name no account. */
  consumers(): Promise<ConsumersAnswer>;
}
