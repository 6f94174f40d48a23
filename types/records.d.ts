/**
 * The records on Tidemark's topics, for consumers: `import type { OrderUpdate } from 'tidemark/records'`. Types only; they need nothing else of the package.
 *
 * Objects are open: a later minor version may add fields, and words to what is typed as `string`. docs/consuming.md says how the records are to be read.
 */

/** An exact decimal as text, in canonical form: no exponent, no leading or trailing zeros. Never a JavaScript number. */
export type DecimalText = string;
/** An int64 as text: it may be above 2^53. `BigInt(text)` reads it. */
export type Int64Text = string;
/** ISO 8601 with `Z` or an offset. */
export type Instant = string;

export type Stream = 'account' | 'prediction';

export type OrderStatus =
  | 'pending_new'
  | 'new'
  | 'partially_filled'
  | 'filled'
  | 'canceled'
  | 'rejected'
  | 'expired'
  | 'replaced'
  | 'done_for_day'
  | 'suspended'
  | 'unknown';

export interface Leg {
  /** Compact OCC option symbol. */
  readonly symbol: string;
  /** As the side of an order. */
  readonly side: string;
  readonly ratioQty: DecimalText;
  /** `open` or `close`. */
  readonly positionEffect?: string;
}

export interface Instrument {
  readonly kind: 'equity' | 'option' | 'prediction';
  readonly symbol: string;
  /** Prediction markets: `YES` or `NO`. */
  readonly outcome?: string;
  /** Options: one leg, or two to four. */
  readonly legs?: readonly Leg[];
}

/** What the venue works on; the submitted terms never change. */
export interface WorkingTerms {
  readonly quantity: DecimalText;
  readonly price?: DecimalText;
  readonly orderType?: string;
}

/** An order as far as it is known. What is absent was absent at the source: never zero, never empty. */
export interface NormalisedOrder {
  readonly stream: Stream;
  readonly orderId: string;
  readonly accountId: string;
  readonly instrument: Instrument;
  /** `buy` or `sell`; on accounts also `sell_short` and `buy_to_cover`. Small letters on both streams. */
  readonly side: string;
  readonly orderType: string;
  readonly timeInForce: string;
  readonly status: OrderStatus;
  /** The platform's own word. */
  readonly statusRaw: string;
  /** `certain`, `unknown_unacked`, `unknown_gap`, `unknown_store_lost`, or a later word. Anything but `certain`: the platform itself does not know. */
  readonly certainty: string;
  readonly certaintyReason?: string;
  /** `none`, `replace`, `cancel`, or a later word. */
  readonly pendingAction: string;
  readonly quantity: DecimalText;
  readonly price?: DecimalText;
  readonly stopPrice?: DecimalText;
  readonly working: WorkingTerms;
  /** Filled so far. Falls only with cause `correction`. */
  readonly cumQty: DecimalText;
  readonly leavesQty: DecimalText;
  readonly avgPrice?: DecimalText;
  readonly clOrdId?: string;
  readonly clientOrderRef?: string;
  readonly venueOrderId?: string;
  readonly placedBy?: string;
  /** The command of Tidemark that placed it, and the caller's own reference. */
  readonly commandId?: string;
  readonly callerRef?: string;
  readonly origin: 'tidemark' | 'external';
  /** Rises when the platform lost its store; absent is 0. */
  readonly sourceEpoch?: number;
  readonly rejectReason?: string;
  readonly rejectText?: string;
  readonly createdAt?: Instant;
  readonly updatedAt: Instant;
  readonly sentAt?: Instant;
  readonly firstAckAt?: Instant;
  readonly closedAt?: Instant;
  readonly expireTime?: Instant;
  /** The sources contradict each other: a person should look. */
  readonly conflict?: string;
  /** Fields that Tidemark does not know, as they came. */
  readonly extra?: Readonly<Record<string, unknown>>;
}

/** What cumQty rose by since the revision before. */
export interface Fill {
  readonly quantity: DecimalText;
  readonly price?: DecimalText;
  /** Several fills may be merged in it, or a gap lies between. */
  readonly inferred: boolean;
}

/** One accepted change: `tidemark.order-updates.v1` and, the newest of each order, `tidemark.order-state.v1`. Keep the highest (generation, revision). */
export interface OrderUpdate {
  /** `<stream>:<orderId>:<revision>` */
  readonly eventId: string;
  readonly schema: 'tidemark.order-update.v1';
  /** Rises only when the database was restored from a backup. */
  readonly generation: number;
  readonly stream: Stream;
  readonly orderId: string;
  readonly accountId: string;
  /** Per order 1, 2, 3 … without a hole, within a generation. */
  readonly revision: number;
  /** The platform's version of a prediction order. */
  readonly sourceVersion?: Int64Text;
  readonly sourceEpoch?: number;
  /** The lane that wrote it, and the batch that it was committed with: see `BatchProof`. Absent where the row of the log is gone. */
  readonly lane?: number;
  readonly batch?: Int64Text;
  readonly cause: 'stream' | 'snapshot' | 'reply' | 'probe' | 'correction';
  /** When it happened, by the platform. */
  readonly occurredAt: Instant;
  /** When the service learnt of it, by its own clock. */
  readonly observedAt: Instant;
  /** Top-level fields of the order that differ from the revision before. */
  readonly changed: readonly string[];
  readonly fill?: Fill;
  readonly order: NormalisedOrder;
}

/** Count and hash of the updates of some batches of a lane, whatever their partitions and order: docs/consuming.md, "Proof". */
export interface BatchProof {
  readonly lane: number;
  readonly generation: number;
  /** The batches above this one, which is `upTo` of the proof before. */
  readonly after: Int64Text;
  readonly upTo: Int64Text;
  /** The number of their updates. */
  readonly count: number;
  /** 12 hexadecimal digits: sum of the first 48 bits of the SHA-256 of each value, modulo 2^48. */
  readonly hash: string;
}

/** A statement about a source: `tidemark.continuity.v1`. */
export interface ContinuityMark {
  readonly eventId: string;
  readonly schema: 'tidemark.continuity.v1';
  readonly stream: Stream;
  /** At least one: the accounts that it is about. A heartbeat names many, any other event one. */
  readonly accountIds: readonly string[];
  /** `heartbeat`: complete up to `at`. */
  readonly event: 'live' | 'lost' | 'resynchronised' | 'heartbeat';
  readonly at: Instant;
  /** Bounds of what may have been missed. */
  readonly from?: Instant;
  readonly to?: Instant;
  readonly reason?: string;
  /** Of `resynchronised`: how many orders the complete read showed. */
  readonly ordersRead?: number;
  /** Of `resynchronised`: how many orders were changed by reading; their updates have the cause `snapshot`. */
  readonly ordersRepaired?: number;
  /** Those orders, the first 100 of them. */
  readonly repairedOrderIds?: readonly string[];
  readonly proof?: BatchProof;
}

export interface Reason {
  /** Short and stable. */
  readonly code: string;
  readonly message: string;
  /** The platform's HTTP status, where there was one. */
  readonly status?: number;
}

/** One write to the platform. */
export interface CommandAttempt {
  /** Our reference on the order: `clientId`, `clientOrderRef`. */
  readonly attemptId: string;
  readonly number: number;
  readonly state: 'prepared' | 'sending' | 'not_sent' | 'refused' | 'rejected' | 'accepted' | 'unknown';
  readonly preparedAt: Instant;
  /** Committed before the one write. */
  readonly sendingAt?: Instant;
  readonly answeredAt?: Instant;
  readonly reason?: Reason;
}

export type CommandOutcomeWord =
  | 'refused'
  | 'not_sent'
  | 'accepted'
  | 'unknown'
  | 'applied'
  | 'rejected'
  | 'moot'
  | 'conflict';

/** One step of a command: `tidemark.command-outcomes.v1`. Keep the highest (generation, version) of each command. */
export interface CommandOutcome {
  /** `<commandId>:<version>` */
  readonly eventId: string;
  readonly schema: 'tidemark.command-outcome.v1';
  readonly commandId: string;
  /** Counts before the version; absent: 1. It rises when the database lost commits. */
  readonly generation?: number;
  /** Per command 1, 2, 3 … without a hole. */
  readonly version: number;
  readonly kind: 'place' | 'replace' | 'cancel';
  readonly stream: Stream;
  readonly accountId: string;
  /** Of a place: once an order with our reference was observed. */
  readonly orderId?: string;
  /** Of that order, when this step was taken. */
  readonly orderStatus?: OrderStatus;
  readonly callerRef?: string;
  readonly supersedes?: string;
  readonly outcome: CommandOutcomeWord;
  /** As the outcome, but `open` while its attempt is not answered. */
  readonly state: CommandOutcomeWord | 'open';
  /** Enough complete reads missed it; absent: no. */
  readonly presumedAbsent?: true;
  readonly seenPendingAt?: { readonly revision: number; readonly sourceVersion?: Int64Text };
  readonly reason?: Reason;
  /** What was asked for. */
  readonly terms?: Readonly<Record<string, unknown>>;
  readonly attempts: readonly CommandAttempt[];
  readonly createdAt: Instant;
  /** When this step was taken. */
  readonly at: Instant;
  readonly settledAt?: Instant;
}
