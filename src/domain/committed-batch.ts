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

/**
 * Ingest's statement about the updates in some batches of a lane. It lets a consumer check that it
 * has them all (docs/consuming.md, "Proof"). Proofs follow one another: `after` is the `upTo` of
 * the one before. A consumer that finds a distance has lost a proof, or a term began without
 * knowing the last.
 */
export interface BatchProof {
  readonly lane: number;
  readonly generation: number;
  /** The batches above this one, up to and with `upTo`. */
  readonly after: bigint;
  readonly upTo: bigint;
  /** How many updates they have. */
  readonly count: number;
  /**
   * 12 hexadecimal digits: the first 48 bits of each value's SHA-256, summed without carry. The
   * updates' order does not matter to it.
   */
  readonly hash: string;
}
