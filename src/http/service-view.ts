import type { StatusDocument } from '../schema/status-answer.ts';
import type { AccountScope } from '../store/order-reads.ts';

/** What the service knows of itself, for operators: this process alone, from its memory. */
export interface ServiceView {
  /** As a caller of this scope may see it. */
  status(scope: AccountScope): Promise<StatusDocument>;
}
