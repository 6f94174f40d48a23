import type { ApplyResult, Unproven } from '../../store/orders/order-store.ts';
import type { Entry } from './entry.ts';
import type { PreparedBatch } from './prepare-batch.ts';

/** A batch sent to the store and not yet committed. */
export interface Flight {
  /** Undefined: it writes nothing, and only waits for the batches before it. */
  readonly number: bigint | undefined;
  /** Kept until the commit: after a failure they are reduced again. */
  readonly entries: readonly Entry[];
  readonly prepared: PreparedBatch;
  /** The updates without a proof before it. Restored if it fails. */
  readonly unprovenBefore: Unproven;
  readonly sentMs: number;
  /** Never rejects. */
  readonly answer: Promise<ApplyResult>;
  /** Set when the answer is here. */
  result: ApplyResult | undefined;
}
