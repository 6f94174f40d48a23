import type { Command, CommandKind, CommandState, CommandWithEvidence } from '../../domain/command.ts';
import type { Decimal } from '../../domain/decimal.ts';
import type { OrderStatus, Stream } from '../../domain/order.ts';

/**
 * The accounts whose orders a reader may see: a required argument of every
 * call here, so that no route can forget it.
 */
export type AccountScope =
  | { readonly kind: 'all' }
  | { readonly kind: 'accounts'; readonly accountIds: readonly string[] };

/** An order as it is stored. `state` is the JSON text of the normalised order, sent on as it is. */
export interface StoredOrder {
  readonly stream: Stream;
  readonly orderId: string;
  readonly accountId: string;
  readonly revision: number;
  readonly sourceVersion: bigint | undefined;
  readonly state: string;
}

export interface OrderFilter {
  readonly stream?: Stream;
  readonly accountId?: string;
  readonly symbol?: string;
  readonly status?: OrderStatus;
  readonly open?: boolean;
  /**
   * Stored in its newest state at or after `since` and before `until`:
   * ISO 8601 in UTC, by the database's clock.
   */
  readonly since?: string;
  readonly until?: string;
  /** A direction: a short sale sells, and a buy that covers one buys. */
  readonly side?: 'buy' | 'sell';
  readonly origin?: 'tidemark' | 'external';
  /** An id or a reference of the order, whole or a part of it. */
  readonly q?: string;
}

/** `-updatedAt`: by the time of the newest stored change, newest first. */
export type OrderSort = 'orderId' | '-updatedAt';

/** `complete` false: of closed orders only the newest were counted. */
export interface OrderCounts {
  readonly items: readonly { readonly status: OrderStatus; readonly orders: number }[];
  readonly complete: boolean;
}

export interface CommandFilter {
  readonly accountId?: string;
  readonly kind?: CommandKind;
  readonly state?: CommandState;
  readonly unresolved?: boolean;
  readonly idempotencyKey?: string;
  /** Exact match. */
  readonly callerRef?: string;
  /**
   * The command's id, or that of one of its attempts, its order's id, its
   * key or its caller's reference: exact match.
   */
  readonly q?: string;
}

/**
 * A page, and where the next one begins; `next` is absent on the last. Cursors are opaque to
 * callers; http encodes them.
 */
export interface Page<T> {
  readonly items: readonly T[];
  readonly next?: readonly string[];
}

export interface AccountRow {
  readonly stream: Stream;
  readonly accountId: string;
  readonly isSim: boolean;
  readonly openOrders: number;
}

/**
 * Open orders, and unresolved commands as if they were live, per account, instrument and side.
 * Quantities are decimal sums.
 */
export interface ExposureRow {
  readonly accountId: string;
  readonly stream: Stream;
  readonly symbol: string;
  /** Prediction markets only. */
  readonly outcome?: string;
  readonly side: string;
  readonly openOrders: number;
  /** Sum of leavesQty of open orders. */
  readonly openQuantity: Decimal;
  readonly unresolvedCommands: number;
  /** The quantity that unresolved places and replaces would add if they were applied. */
  readonly unresolvedQuantity: Decimal;
}

export interface StreamedUpdate {
  readonly seq: bigint;
  readonly stream: Stream;
  readonly orderId: string;
  readonly accountId: string;
  /** The exact text that is on Kafka. */
  readonly payload: string;
}

/** `recordedAt`: when the transaction that stored it began, by the database's clock. */
export interface StoredUpdate extends StreamedUpdate {
  readonly recordedAt: Date;
}

/**
 * A place in the order of events: the transaction that wrote one, and its number, which tells
 * several of one transaction apart.
 */
export interface EventPosition {
  readonly tx: bigint;
  readonly number: bigint;
}

/** A step of a command, or a change of a halt. */
export interface StreamedEvent extends EventPosition {
  readonly kind: 'outcome' | 'halt';
  /** Left out: it concerns every account, or both streams. */
  readonly accountId?: string;
  readonly stream?: Stream;
  /** JSON: of an outcome the text that is on Kafka. */
  readonly payload: string;
}

/**
 * Below `horizon` no event can be committed any more; it may be lower in a later answer. `end`:
 * above every transaction that there was; never lower later.
 */
export interface EventHorizon {
  readonly horizon: bigint;
  readonly end: bigint;
}

export interface EventPage {
  readonly events: readonly StreamedEvent[];
  /** Everything up to here was read: the last event of a full page, or the horizon. */
  readonly upTo: EventPosition;
  /** False: events above the position that was asked for were deleted. */
  readonly complete: boolean;
}

/**
 * The read side of REST: Postgres behind it, on any instance, holder of the lane or not. Every call
 * has a deadline; rejects when the database can't be reached.
 */
export interface OrderReads {
  /**
   * By (stream, orderId) unless `sort` says otherwise, at most `limit`. A page of few matches may
   * be short, or empty, and still have a `next`. An order that changes while its list is read by
   * newest change moves to the front, so it may be on no page: the stream of updates has it.
   */
  listOrders(
    scope: AccountScope,
    filter: OrderFilter,
    after: readonly string[] | undefined,
    limit: number,
    sort?: OrderSort,
  ): Promise<Page<StoredOrder>>;
  /**
   * Open orders by status; with `since`, those of all orders that were
   * stored in their newest state since then.
   */
  countOrders(scope: AccountScope, filter: Pick<OrderFilter, 'stream' | 'accountId' | 'since'>): Promise<OrderCounts>;
  getOrder(scope: AccountScope, stream: Stream, orderId: string): Promise<StoredOrder | undefined>;
  /**
   * Payloads by revision, oldest first, from above `afterRevision`; undefined: no such order in the
   * scope. Payloads older than the retention are gone.
   */
  history(
    scope: AccountScope,
    stream: Stream,
    orderId: string,
    afterRevision: number,
    limit: number,
  ): Promise<readonly StoredUpdate[] | undefined>;
  /** Newest first. */
  listCommands(
    scope: AccountScope,
    filter: CommandFilter,
    after: readonly string[] | undefined,
    limit: number,
  ): Promise<Page<Command>>;
  findCommand(scope: AccountScope, commandId: string): Promise<CommandWithEvidence | undefined>;
  accounts(scope: AccountScope): Promise<readonly AccountRow[]>;
  exposure(scope: AccountScope, accountId: string | undefined): Promise<readonly ExposureRow[]>;
  /**
   * Updates above `afterSeq` in the order of seq, continuity marks left out. `lastSeq`: the last
   * seq looked at, even where nothing was in this scope; no lane can commit a row up to there any
   * more. `oldestSeq` above `afterSeq + 1`: the rows between are gone.
   */
  updatesAfter(
    scope: AccountScope,
    afterSeq: bigint,
    limit: number,
  ): Promise<{ readonly updates: readonly StreamedUpdate[]; readonly lastSeq: bigint; readonly oldestSeq: bigint }>;
  eventHorizon(): Promise<EventHorizon>;
  /** Events of every account above `after` and below the horizon, by position, at most `limit`. */
  eventsAfter(after: EventPosition, horizon: bigint, limit: number): Promise<EventPage>;
  /** The end of the log: a place to continue from, like `lastSeq`. */
  newestSeq(): Promise<bigint>;
}
