import type { Stream } from './order.ts';
import type { BoundOrder } from './resolving.ts';

/** One row in the log, as it goes to Kafka. */
export interface LogRow {
  /** The row's topic. */
  readonly topic: 'updates' | 'watermarks';
  /** `<stream>:<orderId>`; for a watermark see `watermarkKey`. */
  readonly key: string;
  readonly payload: string;
  /**
   * Its order's account: says which shard follows it. Not known for marks, nor for rows read back
   * from the log.
   */
  readonly accountId?: string;
  /**
   * Set for an order placed by one of our commands. Together with `bound` it is also set for an
   * order that only has a command's reference, with another account or side. It is for the
   * resolver; without it the resolver would have to parse every payload. Not known for rows
   * read back from the log.
   */
  readonly commandId?: string;
  /** The order was bound in this revision: its first one, or the first to show its reference. */
  readonly bound?: BoundOrder;
}

/**
 * A batch just committed, handed from ingest to the relay in memory. `rows` is in the order of seq;
 * `lastSeq` is the last row's seq.
 */
export interface CommittedBatch {
  readonly number: bigint;
  readonly lastSeq: bigint | undefined;
  readonly rows: readonly LogRow[];
  /**
   * Each row's monotonic arrival time, in the order of `rows`; NaN if it has no observation
   * (watermarks).
   */
  readonly receivedMs: readonly number[];
  readonly streams: readonly (Stream | 'watermarks')[];
  /** Monotonic time of the commit's acknowledgement. */
  readonly committedMs: number;
  /** Approximate size in memory: payload characters. */
  readonly bytes: number;
}
