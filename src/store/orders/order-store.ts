import type { Head, UnreadableHead } from '../../domain/head.ts';
import type { Stream } from '../../domain/order.ts';

/** One order's newest state, as stored. At most one for each order in a batch. */
export interface HeadRow {
  readonly stream: Stream;
  readonly orderId: string;
  readonly accountId: string;
  readonly symbol: string;
  readonly status: string;
  readonly revision: number;
  /**
   * It was reduced from this revision; 0: the order was not known. If another revision is stored,
   * the batch is refused.
   */
  readonly reducedFrom: number;
  /** Decimal digits, or null. */
  readonly sourceVersion: string | null;
  /** The whole normalised order as JSON: the same text as in the payload. */
  readonly state: string;
  /** The join's own memory as JSON. */
  readonly join: string;
}

/**
 * One row in the log: an accepted change, or a watermark (stream `watermarks`, order id = the
 * mark's id, revision 1).
 */
export interface UpdateRow {
  readonly stream: Stream | 'watermarks';
  readonly orderId: string;
  readonly accountId: string;
  readonly revision: number;
  /** The exact text for Kafka. */
  readonly payload: string;
}

/** Which head and which updates of a batch are one order's, by places from 1. */
export interface Places {
  /** Of each head's own update, which has its state; null: only the join's memory changed. */
  readonly newest: readonly (number | null)[];
  /**
   * Of each update's row before: among the updates, or less than 0 its head's among the heads. Null
   * for marks.
   */
  readonly before: readonly (number | null)[];
}

export interface DeadLetterRow {
  readonly stream: Stream;
  readonly accountId: string | null;
  readonly orderId: string | null;
  readonly reason: string;
  readonly detail: string;
  readonly raw: string;
  readonly observedAtMs: number;
}

/**
 * An order with one of our attempts' ids. `matches`: account and side also equal the command's, so
 * the order is ours, whatever name its symbol has. Otherwise a person has to look. Written with the
 * first revision that shows the id, so no crash can separate the two.
 */
export interface BindingRow {
  readonly stream: Stream;
  readonly orderId: string;
  readonly attemptId: string;
  readonly commandId: string;
  readonly matches: boolean;
}

/** An attempt's data, by its id. They decide if an order with the id is ours. */
export interface Binding {
  readonly commandId: string;
  readonly callerRef?: string;
  readonly stream: Stream;
  readonly accountId: string;
  /** Null: of a replace. */
  readonly side: string | null;
}

/** The updates in a lane's batches above `after`, committed or about to be. */
export interface Unproven {
  readonly after: bigint;
  readonly count: number;
  /** The sum of their values' hashes, below 2^48 (`service/orders/prepare-batch.ts`). */
  readonly sum: number;
}

/** One transaction's writes. `number` is one above the lane's last committed batch. */
export interface Batch {
  readonly lane: number;
  readonly epoch: bigint;
  readonly number: bigint;
  readonly heads: readonly HeadRow[];
  /** In the order of acceptance: seq rises with revision. */
  readonly updates: readonly UpdateRow[];
  readonly places: Places;
  readonly deadLetters: readonly DeadLetterRow[];
  /** Left out: none. */
  readonly bindings?: readonly BindingRow[];
}

/** A batch's result. Expected results are returned, never thrown. */
export type ApplyResult =
  /** `lastSeq`: the seq of its last log row; undefined when it wrote none. */
  | { readonly kind: 'committed'; readonly lastSeq: bigint | undefined }
  /**
   * Certainly rolled back, and likely to pass when tried again (serialization, deadlock, server
   * shutting down, disk full …).
   */
  | { readonly kind: 'retry'; readonly code: string }
  /**
   * Certainly rolled back: Postgres will never take one of the rows (classes 22 and 23). Halve the
   * batch.
   */
  | { readonly kind: 'poison'; readonly code: string; readonly message: string }
  /**
   * Certainly rolled back, by an unknown kind of error. One row may be the cause, or the whole
   * database. Try again; if the error stays, look for the row.
   */
  | { readonly kind: 'failed'; readonly code: string; readonly message: string }
  /**
   * Certainly rolled back: the lane's number was not `number - 1` (a batch before this one failed).
   */
  | { readonly kind: 'out_of_order' }
  /** The epoch is no longer ours. Stand by, never retry. */
  | { readonly kind: 'lane_lost' }
  /**
   * The connection broke or the deadline passed after the transaction began. It may have committed,
   * or may still do so. Reclaim before anything else.
   */
  | { readonly kind: 'unknown'; readonly code: string };

/**
 * The database answered a read with an error not likely to pass, or with what can't be read. It is
 * like `failed` for a batch, but before there is a batch. `code`: SQLSTATE, or `UNREADABLE`.
 */
export class RefusedReadError extends Error {
  readonly retryable = false;
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'RefusedReadError';
    this.code = code;
  }
}

/** Every order's state, and the log of accepted changes. Every call has its own deadline. */
export interface OrderStore {
  /**
   * The heads known under the keys (`<stream>:<orderId>`), in any order. One query. An unreadable
   * one is answered as such, beside the others. Rejects when the database can't be reached, or
   * with `RefusedReadError`.
   */
  readHeads(keys: readonly string[]): Promise<Map<string, Head | UnreadableHead>>;
  /**
   * Attempts by their ids; ids that are not ours are left out. Asked only for orders that show a
   * reference like ours for the first time. Rejects like `readHeads`.
   */
  readBindings(attemptIds: readonly string[]): Promise<Map<string, Binding>>;
  /**
   * The updates behind the lane's newest proof in this generation; undefined: there is no such
   * proof among its newest rows. Right only while the lane is ours. Rejects like `readHeads`.
   */
  readUnproven(lane: number, generation: number): Promise<Unproven | undefined>;
  /** One transaction in one round trip. Up to two may be in flight, the second behind the first. */
  applyBatch(batch: Batch): Promise<ApplyResult>;
}
