import type { Doubt } from './head.ts';
import type { OrderView, Stream } from './order.ts';

/**
 * Where an observation came from. Every fact about an order comes
 * as one of these and goes through ingest.
 */
export type Cause = 'stream' | 'snapshot' | 'reply' | 'probe';

/** The result of offering something to ingest. Each offered item ends as exactly one of them. */
export type Outcome = 'applied' | 'duplicate' | 'stale' | 'conflict' | 'quarantined';

/** The content of one order as one source gave it at one time. */
export interface Observation {
  readonly kind: 'order';
  readonly cause: Cause;
  readonly view: OrderView;
  /**
   * The platform's `version`, int64. Absent on account orders and where the platform left it out.
   */
  readonly sourceVersion?: bigint;
  /**
   * Prediction orders: the source epoch of the connection or read that brought it
   * (docs/settling.md, "A lost store"). 0 on account orders.
   */
  readonly sourceEpoch: number;
  /**
   * A complete GET that was confirmed by a second one, and disputes our state (`Doubt`). Only this
   * can lower cumQty, or take back an end.
   */
  readonly correction?: true;
  /**
   * A single order for which a caller waits: it goes ahead of the
   * events of the streams and the pages of lists.
   */
  readonly urgent?: true;
  /** Wall time of arrival, milliseconds since the epoch. */
  readonly observedAtMs: number;
  /** Monotonic time of arrival in milliseconds: the start of the latency that we measure. */
  readonly receivedMs: number;
  /** The size with which it counts against the queue's bound. */
  readonly bytes: number;
  /** Called once, after the commit that settled it. */
  readonly onOutcome?: (outcome: Outcome) => void;
  /**
   * Called after the commit, when the order ought to be read from REST. One function for all rows
   * of an account: it costs the stream nothing.
   */
  readonly onDoubt?: (observation: Observation, doubt: Doubt) => void;
}

/**
 * Something arrived that cannot be understood. It is kept whole
 * in `quarantine` and changes nothing else.
 */
export interface Unreadable {
  readonly kind: 'unreadable';
  readonly cause: Cause;
  readonly stream: Stream;
  /**
   * Short and stable, for a metric label: `not_json`,
   * `bad_version`, `bad_decimal`, `missing_field` …
   */
  readonly reason: string;
  /** For people: which field, what was expected. */
  readonly detail: string;
  /** The received text, cut at 64 KiB, NUL and lone surrogates made safe for Postgres text. */
  readonly raw: string;
  readonly accountId?: string;
  readonly orderId?: string;
  readonly observedAtMs: number;
  readonly bytes: number;
  /** Called once, after the commit that settled it. */
  readonly onOutcome?: (outcome: Outcome) => void;
}

/**
 * A statement about a source, not about an order: it went live, lost continuity, was
 * resynchronised, or is complete up to now. It takes the same way through the log, so that on Kafka
 * it follows everything that came before it.
 */
export interface ContinuityMark {
  readonly kind: 'continuity';
  /** A UUID. */
  readonly markId: string;
  readonly stream: Stream;
  /**
   * A heartbeat is about all accounts that are complete up to the
   * same time; any other mark is about one.
   */
  readonly accountIds: readonly [string, ...string[]];
  readonly event: 'live' | 'lost' | 'resynchronised' | 'heartbeat';
  readonly atMs: number;
  /**
   * The interval in which something may have been missed, for `lost` and `resynchronised`.
   * Milliseconds since the epoch.
   */
  readonly fromMs?: number;
  readonly toMs?: number;
  readonly reason?: string;
  /**
   * Of `resynchronised`: how many orders the read showed, how many of
   * them it changed, and the first of those.
   */
  readonly ordersRead?: number;
  readonly ordersRepaired?: number;
  readonly repairedOrderIds?: readonly string[];
}

export type IngestItem = Observation | Unreadable | ContinuityMark;
