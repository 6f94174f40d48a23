import type { BoundOrder } from './settling.ts';

/** One row of the log, as it goes to Kafka. */
export interface LogRow {
  /** The topic that it is for. */
  readonly topic: 'updates' | 'continuity';
  /** `<stream>:<orderId>`; for a continuity mark see `continuityKey`. */
  readonly key: string;
  readonly payload: string;
  /**
   * The account of its order: says which desk follows it. Not known for
   * marks, nor for rows read back from the log.
   */
  readonly accountId?: string;
  /**
   * Set for an order that a command of ours placed. Together with `bound` it is also set
   * for an order that only carries the reference of a command, with another account or
   * side. It is for the reconciler, which would otherwise have to parse every payload.
   * Not known for rows read back from the log.
   */
  readonly commandId?: string;
  /**
   * The revision in which the order was bound: its first one, or
   * the first that showed its reference.
   */
  readonly bound?: BoundOrder;
}

/**
 * A batch that just committed, handed from ingest to the relay in memory. `rows` is in the order of
 * seq; `lastSeq` is the seq of the last.
 */
export interface CommittedBatch {
  readonly number: bigint;
  readonly lastSeq: bigint | undefined;
  readonly rows: readonly LogRow[];
  /**
   * Monotonic time of arrival of each row's observation, in the order of `rows`; NaN where there is
   * none (continuity marks).
   */
  readonly receivedMs: readonly number[];
  readonly streams: readonly ('account' | 'prediction' | 'continuity')[];
  /** Monotonic time at which the commit was acknowledged. */
  readonly committedMs: number;
  /** Approximate size in memory: payload characters. */
  readonly bytes: number;
}
