import type { Head } from '../../domain/head.ts';
import type { Stream } from '../../domain/order.ts';

/** The newest state of one order, as it is stored. At most one for each order in a batch. */
export interface HeadRow {
  readonly stream: Stream;
  readonly orderId: string;
  readonly accountId: string;
  readonly symbol: string;
  readonly status: string;
  readonly revision: number;
  /**
   * The revision that it was reduced from; 0: the order was not known. If another revision is
   * stored, the batch is refused.
   */
  readonly reducedFrom: number;
  /** Decimal digits, or null. */
  readonly sourceVersion: string | null;
  /** JSON of the whole normalised order: the same text as in the payload. */
  readonly state: string;
  /** JSON of the join's own memory. */
  readonly join: string;
}

/**
 * One row of the log: an accepted change, or a continuity mark (stream
 * `continuity`, order id = the mark's id, revision 1).
 */
export interface UpdateRow {
  readonly stream: Stream | 'continuity';
  readonly orderId: string;
  readonly accountId: string;
  readonly revision: number;
  /** The exact text that goes to Kafka. */
  readonly payload: string;
}

export interface QuarantineRow {
  readonly stream: Stream;
  readonly accountId: string | null;
  readonly orderId: string | null;
  readonly reason: string;
  readonly detail: string;
  readonly raw: string;
  readonly observedAtMs: number;
}

/**
 * An order that carries the id of one of our attempts. `matches`: account and side are also those
 * of the command, so the order is ours, whatever its symbol is called; otherwise a person has to
 * look. Written with the revision that first shows the id, so that no crash can separate the two.
 */
export interface BindingRow {
  readonly stream: Stream;
  readonly orderId: string;
  readonly attemptId: string;
  readonly commandId: string;
  readonly matches: boolean;
}

/** The data of an attempt, by its id: they decide whether an order that carries the id is ours. */
export interface Binding {
  readonly commandId: string;
  readonly callerRef?: string;
  readonly stream: Stream;
  readonly accountId: string;
  readonly side: string;
}

/** The updates of a lane's batches above `after`, as far as they are committed or about to be. */
export interface Unproven {
  readonly after: bigint;
  readonly count: number;
  /** Of the hashes of their values, below 2^48 (`service/orders/unproven.ts`). */
  readonly sum: number;
}

/** The writes of one transaction. `number` is one above the lane's last committed batch. */
export interface Batch {
  readonly lane: number;
  readonly epoch: bigint;
  readonly number: bigint;
  readonly heads: readonly HeadRow[];
  /** In the order of acceptance: seq rises with revision. */
  readonly updates: readonly UpdateRow[];
  readonly quarantine: readonly QuarantineRow[];
  /** Left out: none. */
  readonly bindings?: readonly BindingRow[];
}

/** The outcome of a batch. Expected outcomes are returned, never thrown. */
export type ApplyResult =
  /** `lastSeq`: the seq of its last log row; undefined when it wrote none. */
  | { readonly kind: 'committed'; readonly lastSeq: bigint | undefined }
  /**
   * Certainly rolled back, and likely to pass when tried again (serialization, deadlock, server
   * shutting down, disk full …).
   */
  | { readonly kind: 'retry'; readonly code: string }
  /**
   * Certainly rolled back: a row that Postgres will never take
   * (classes 22 and 23). Halve the batch.
   */
  | { readonly kind: 'poison'; readonly code: string; readonly message: string }
  /**
   * Certainly rolled back, by an error of an unknown kind, which may be due to one row or to the
   * whole database. Try again; if the error stays, look for the row.
   */
  | { readonly kind: 'failed'; readonly code: string; readonly message: string }
  /**
   * Certainly rolled back: the lane's number was not `number - 1` (a batch before this one failed).
   */
  | { readonly kind: 'out_of_order' }
  /** The epoch is no longer ours. Stand by, never retry. */
  | { readonly kind: 'lane_lost' }
  /**
   * The connection broke or the deadline passed after the transaction began: it may have committed,
   * or may still do so. Reclaim before anything else.
   */
  | { readonly kind: 'unknown'; readonly code: string };

/**
 * The database answered a read with an error that is not likely to pass: like `failed` of a batch,
 * but before there is a batch. `code`: SQLSTATE.
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

/**
 * The state of every order, and the log of accepted changes. Every call has a deadline of its own.
 */
export interface OrderStore {
  /**
   * The heads of the keys (`<stream>:<orderId>`) that are known, in any order. One query. Rejects
   * when the database can't be reached, or with `RefusedReadError`.
   */
  readHeads(keys: readonly string[]): Promise<Map<string, Head>>;
  /**
   * Attempts by their ids; ids that are not ours are left out. Asked only for orders that show a
   * reference like ours for the first time. Rejects like `readHeads`.
   */
  readBindings(attemptIds: readonly string[]): Promise<Map<string, Binding>>;
  /**
   * The updates behind the lane's newest proof of this generation; undefined: there is no such
   * proof among its newest rows. Right only while the lane is ours. Rejects like `readHeads`.
   */
  readUnproven(lane: number, generation: number): Promise<Unproven | undefined>;
  /** One transaction in one round trip. Up to two may be in flight, the second behind the first. */
  applyBatch(batch: Batch): Promise<ApplyResult>;
}
