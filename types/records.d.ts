/**
 * The records on Tidemark's topics, for consumers: `import type { OrderUpdate } from 'tidemark/records'`. Types only; they need nothing else of the package.
 *
 * Objects are open: a later minor version may add fields, and words to what is typed as `string`. docs/consuming.md says how the records are to be read.
 *
 * Made from src/contract/: npx vitest run -u --project unit test/contract/record-types.test.ts
 */

/** An exact decimal as text, in canonical form: no exponent, no leading or trailing zeros. Never a JavaScript number. */
export type DecimalText = string;
/** An int64 as text: it may be above 2^53. `BigInt(text)` reads it. */
export type Int64Text = string;
/** ISO 8601 with `Z` or an offset. */
export type Instant = string;

/** Equities and options of an account, or its prediction orders */
export type Stream = 'account' | 'prediction' | 'alpaca' | 'alpaca_paper';

/** The rise of cumQty since the revision before; inferred where several fills may be merged or a gap lies between */
export interface Fill {
  readonly quantity: DecimalText;
  readonly price?: DecimalText;
  readonly inferred: boolean;
}

/** What is traded */
export type InstrumentKind = 'equity' | 'option' | 'prediction';

/** One leg of an option order */
export interface Leg {
  /** Compact OCC option symbol */
  readonly symbol: string;
  /** As the side of an order */
  readonly side: string;
  readonly ratioQty: DecimalText;
  /** open, close */
  readonly positionEffect?: string;
}

/** The thing that is traded */
export interface Instrument {
  readonly kind: InstrumentKind;
  readonly symbol: string;
  /** Prediction markets: YES or NO */
  readonly outcome?: string;
  /** Options: one leg, or two to four */
  readonly legs?: readonly Leg[];
}

/** One list for both streams */
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

/** The terms that the venue works on */
export interface WorkingTerms {
  readonly quantity?: DecimalText;
  readonly price?: DecimalText;
  readonly orderType?: string;
}

/** Normalised order */
export interface NormalisedOrder {
  readonly stream: Stream;
  readonly orderId: string;
  readonly accountId: string;
  readonly instrument: Instrument;
  /** buy, sell; on accounts also sell_short, buy_to_cover. Small letters on both streams */
  readonly side: string;
  readonly orderType: string;
  readonly timeInForce: string;
  readonly status: OrderStatus;
  /** The platform's own word */
  readonly statusRaw: string;
  /** certain, unknown_unacked, unknown_gap, unknown_store_lost, or a later word. Anything but certain: the platform itself does not know */
  readonly certainty: string;
  readonly certaintyReason?: string;
  /** none, replace, cancel, or a later word */
  readonly pendingAction: string;
  /** Absent: the order is for an amount of money, notional */
  readonly quantity?: DecimalText;
  /** An amount of money, in place of a quantity */
  readonly notional?: DecimalText;
  readonly price?: DecimalText;
  readonly stopPrice?: DecimalText;
  readonly working: WorkingTerms;
  /** Filled so far. Falls only with the cause correction */
  readonly cumQty: DecimalText;
  /** Still working; 0 on an account order that is over. Absent: an order for an amount is at work */
  readonly leavesQty?: DecimalText;
  readonly avgPrice?: DecimalText;
  readonly clOrdId?: string;
  readonly clientOrderRef?: string;
  readonly venueOrderId?: string;
  /** The order whose terms it changed, where a replace makes a new order */
  readonly replaces?: string;
  /** The order that changed its terms */
  readonly replacedBy?: string;
  readonly placedBy?: string;
  /** The command of Tidemark that placed it */
  readonly commandId?: string;
  /** The caller's own reference */
  readonly callerRef?: string;
  readonly origin: 'tidemark' | 'external';
  /** Rises when the platform lost its store; absent is 0 */
  readonly sourceEpoch?: number;
  /** The platform gave the id again: 2, 3 … for each further order under it; absent is the first one */
  readonly incarnation?: number;
  readonly rejectReason?: string;
  readonly rejectText?: string;
  readonly createdAt?: Instant;
  readonly updatedAt: Instant;
  readonly sentAt?: Instant;
  readonly firstAckAt?: Instant;
  readonly closedAt?: Instant;
  readonly expireTime?: Instant;
  /** The sources contradict each other: a person should look */
  readonly conflict?: string;
  /** Fields that Tidemark does not know, as they came */
  readonly extra?: Readonly<Record<string, unknown>>;
}

/** One accepted change, and on the state topic the newest of each order: keep the highest (generation, revision) */
export interface OrderUpdate {
  /** <stream>:<orderId>:<revision> */
  readonly eventId: string;
  readonly schema: 'tidemark.order-update.v1';
  /** Rises only after a loss of commits (restore, failover); keep the highest (generation, revision) */
  readonly generation: number;
  readonly stream: Stream;
  readonly orderId: string;
  readonly accountId: string;
  /** Per order 1, 2, 3 … without a hole */
  readonly revision: number;
  /** The platform's version, int64 as text */
  readonly sourceVersion?: Int64Text;
  readonly sourceEpoch?: number;
  /** The lane that wrote it. Absent where the row of the log is gone */
  readonly lane?: number;
  /** The batch of the lane that it was committed with: see `proof` of watermarks */
  readonly batch?: Int64Text;
  readonly cause: 'stream' | 'snapshot' | 'reply' | 'probe' | 'correction';
  /** When it happened, by the platform */
  readonly occurredAt: Instant;
  /** When the service learnt of it, by the clock of its database */
  readonly observedAt: Instant;
  /** Top-level fields of the order that differ from the revision before */
  readonly changed: readonly string[];
  readonly fill?: Fill;
  readonly order: NormalisedOrder;
}

/** Count and hash of the updates of some batches of a lane */
export interface BatchProof {
  readonly lane: number;
  readonly generation: number;
  /** The batches above this one */
  readonly after: Int64Text;
  /** Up to and with this one */
  readonly upTo: Int64Text;
  /** The number of updates of these batches */
  readonly count: number;
  /** Sum of the first 48 bits of the SHA-256 of each value, modulo 2^48 */
  readonly hash: string;
}

/** A statement about a source */
export interface Watermark {
  readonly eventId: string;
  readonly schema: 'tidemark.watermarks.v1';
  readonly stream: Stream;
  /** The accounts that it is about: many for a heartbeat, one for any other event */
  readonly accountIds: readonly string[];
  /** heartbeat: complete up to `at` */
  readonly event: 'live' | 'lost' | 'resynchronised' | 'heartbeat';
  readonly at: Instant;
  /** Begin of what may have been missed */
  readonly from?: Instant;
  /** End of what may have been missed */
  readonly to?: Instant;
  readonly reason?: string;
  /** Of `resynchronised`: how many orders the complete read showed */
  readonly ordersRead?: number;
  /** Of `resynchronised`: how many orders were changed by reading */
  readonly ordersRepaired?: number;
  /** Those orders, the first 100 of them */
  readonly repairedOrderIds?: readonly string[];
  /** Of a `heartbeat`: orders that it does not speak for, since the platform shows them in no readable row */
  readonly unreadOrderIds?: readonly string[];
  readonly proof?: BatchProof;
}

/** What a command does */
export type CommandKind = 'place' | 'replace' | 'cancel';

/** What is known about a command */
export type ResultWord = 'refused' | 'not_sent' | 'accepted' | 'unknown' | 'applied' | 'rejected' | 'moot' | 'conflict';

/** As the result, but `open` while its attempt is not answered */
export type CommandState =
  | 'open'
  | 'refused'
  | 'not_sent'
  | 'accepted'
  | 'unknown'
  | 'applied'
  | 'rejected'
  | 'moot'
  | 'conflict';

/** Why something is as it is */
export interface Reason {
  /** Short and stable */
  readonly code: string;
  readonly message: string;
  /** The platform's HTTP status, where there was one */
  readonly status?: number;
}

/** How far one write to the platform has come */
export type AttemptState = 'prepared' | 'sending' | 'not_sent' | 'refused' | 'rejected' | 'accepted' | 'unknown';

/** One write to the platform, as the topic has it */
export interface ResultAttempt {
  /** Our reference on the order: clientId, clientOrderRef */
  readonly attemptId: string;
  readonly number: number;
  readonly state: AttemptState;
  readonly preparedAt: Instant;
  /** Committed before the one write */
  readonly sendingAt?: Instant;
  readonly answeredAt?: Instant;
  readonly reason?: Reason;
}

/** One step of a command: keep the highest (generation, version) of each command */
export interface CommandResult {
  /** <commandId>:<version> */
  readonly eventId: string;
  readonly schema: 'tidemark.command-result.v1';
  readonly commandId: string;
  /** Before the version; absent: 1. It rises when the database lost commits */
  readonly generation?: number;
  /** Per command 1, 2, 3 … without a hole */
  readonly version: number;
  readonly kind: CommandKind;
  readonly stream: Stream;
  readonly accountId: string;
  /** Placed: once an order with our reference was observed */
  readonly orderId?: string;
  /** Of that order, when this step was taken */
  readonly orderStatus?: OrderStatus;
  /** The order before, of a replace that has made a new one */
  readonly replaces?: string;
  readonly callerRef?: string;
  readonly supersedes?: string;
  readonly result: ResultWord;
  readonly state: CommandState;
  /** Enough complete reads missed it; absent: no */
  readonly presumedAbsent?: true;
  readonly seenPendingAt?: {
    readonly revision: number;
    readonly sourceVersion?: Int64Text;
  };
  readonly reason?: Reason;
  /** What was asked for; decimals in canonical form, as strings */
  readonly terms?: Readonly<Record<string, unknown>>;
  readonly attempts: readonly ResultAttempt[];
  readonly createdAt: Instant;
  /** When this step was taken */
  readonly at: Instant;
  readonly resolvedAt?: Instant;
}
