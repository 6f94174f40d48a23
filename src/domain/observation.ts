import type { Doubt, Head, Reduction } from './head.ts';
import type { OrderView, OwnFields, Stream } from './order.ts';

/**
 * An observation's source. Every fact about an order comes as one of these and goes through ingest.
 */
export type Cause = 'stream' | 'snapshot' | 'reply' | 'probe';

/** The result of offering something to ingest. Each offered item ends as exactly one. */
export type ObservationResult = 'applied' | 'duplicate' | 'stale' | 'conflict' | 'dead_lettered';

/** One order's content as one source gave it at one time. */
export interface Observation {
  readonly kind: 'order';
  readonly cause: Cause;
  readonly view: OrderView;
  /** The platform's `version`, int64. Absent on account orders and if the platform left it out. */
  readonly sourceVersion?: bigint | undefined;
  /**
   * Prediction orders: the source epoch of its connection or read (docs/merging.md, "A lost
   * store"). 0 on account orders.
   */
  readonly sourceEpoch: number;
  /**
   * Two complete GETs agreed on it, and each contradicted this revision of ours (`Doubt`). Only
   * where that one still stands does it lower cumQty, or take back an end.
   */
  readonly overrules?: number | undefined;
  /** A single order a caller waits for: it goes ahead of stream events and list pages. */
  readonly urgent?: true | undefined;
  /** Wall time of arrival, milliseconds since the epoch. */
  readonly observedAtMs: number;
  /** Monotonic time of arrival in milliseconds. The measured latency starts here. */
  readonly receivedMs: number;
  /** It counts against the queue's bound with this size. */
  readonly bytes: number;
  /**
   * Called once, after the commit that ended it. `learnt`: it was applied, and only adds what no
   * source had shown.
   */
  readonly onResult?: (result: ObservationResult, learnt?: boolean) => void;
  /**
   * Called after the commit, when the order ought to be read from REST; `dead_lettered`: the row is
   * not in the log. `revision`: ours, which the view was held against. One function for all rows in
   * an account: it costs the stream nothing.
   */
  readonly onDoubt?: ((observation: Observation, doubt: Doubt | 'dead_lettered', revision: number) => void) | undefined;
  /** Of the stream: all that its connection had sent before then was read. By both clocks. */
  readonly upTo?: { readonly wallMs: number; readonly monotonicMs: number } | undefined;
}

/**
 * A stream's rules for an order's first observation, for the first one after its id was given
 * again, and for all others.
 */
export interface ReductionRules {
  readonly first: (observation: Observation, own: OwnFields) => Reduction;
  readonly next: (head: Head, observation: Observation, own: OwnFields) => Reduction;
  readonly goOn: (head: Head, observation: Observation) => Reduction;
}

/**
 * Something arrived that cannot be understood. It is kept whole as a dead letter and changes
 * nothing else.
 */
export interface Unreadable {
  readonly kind: 'unreadable';
  readonly cause: Cause;
  readonly stream: Stream;
  /**
   * Short and stable, for a metric label: `not_json`, `bad_version`, `bad_decimal`, `missing_field`
   * …
   */
  readonly reason: string;
  /** For people: the field and the expected value. */
  readonly detail: string;
  /** The received text, cut at 64 KiB, NUL and lone surrogates made safe for Postgres text. */
  readonly raw: string;
  readonly accountId?: string;
  readonly orderId?: string;
  readonly observedAtMs: number;
  /** As of an order. Left out: `observedAtMs` is by this process's own clock. */
  readonly receivedMs?: number;
  readonly bytes: number;
  /** As of an order. */
  readonly onResult?: Observation['onResult'];
}

/**
 * A statement about a source, not about an order: it went live, lost continuity, was
 * resynchronised, or is complete up to now. It takes the same way through the log. So on Kafka it
 * follows everything that came before it.
 */
export interface Watermark {
  readonly kind: 'watermarks';
  /** A UUID. */
  readonly markId: string;
  readonly stream: Stream;
  /**
   * A heartbeat is about all accounts complete up to the same time; any other mark is about one.
   */
  readonly accountIds: readonly [string, ...string[]];
  readonly event: 'live' | 'lost' | 'resynchronised' | 'heartbeat';
  readonly atMs: number;
  /**
   * Something may have been missed in this interval, for `lost` and `resynchronised`. Milliseconds
   * since the epoch.
   */
  readonly fromMs?: number;
  readonly toMs?: number;
  readonly reason?: string;
  /**
   * For `resynchronised`: how many orders the read showed, how many it changed, and the first
   * changed ones.
   */
  readonly ordersRead?: number;
  readonly ordersRepaired?: number;
  readonly repairedOrderIds?: readonly string[];
  /** For a heartbeat, of one account then: orders that it is not complete for. */
  readonly unreadOrderIds?: readonly string[];
}

export type IngestItem = Observation | Unreadable | Watermark;
