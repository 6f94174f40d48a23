import type { ApplyResult, Unproven } from '../../store/orders/order-store.ts';
import type { Entry } from './entry.ts';
import type { PreparedBatch } from './prepare-batch.ts';

/** A batch that was sent to the store and has not been settled. */
export interface Flight {
  /** Undefined: it writes nothing, and only waits for the batches before it. */
  readonly number: bigint | undefined;
  /** Kept until the commit: after a failure they are reduced again. */
  readonly entries: readonly Entry[];
  readonly prepared: PreparedBatch;
  /** What no proof covered before it, for the case that it fails. */
  readonly unprovenBefore: Unproven;
  readonly sentMs: number;
  /** Never rejects. */
  readonly answer: Promise<ApplyResult>;
  /** Set when the answer is here. */
  result: ApplyResult | undefined;
}
