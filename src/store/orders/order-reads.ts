import type { Pool } from 'pg';
import type { commandFilters, FilterOf, orderFilters } from '../../contract/list-filters.ts';
import type { Command, CommandWithEvidence } from '../../domain/command.ts';
import type { Decimal } from '../../domain/decimal.ts';
import type { OrderStatus, Stream } from '../../domain/order.ts';

/**
 * The accounts whose orders a reader may see. Every call here requires a scope, so no route can
 * forget it.
 */
export type AccountScope =
  | { readonly kind: 'all' }
  | { readonly kind: 'accounts'; readonly accountIds: readonly string[] };

/** An order as stored. `state` is the normalised order's JSON text, sent on as it is. */
export interface StoredOrder {
  readonly stream: Stream;
  readonly orderId: string;
  readonly accountId: string;
  readonly revision: number;
  readonly sourceVersion: bigint | undefined;
  readonly state: string;
}

/**
 * Times in UTC with microseconds, by the database's clock: when the newest state was stored. The
 * rest as list-filters.ts says it.
 */
export type OrderFilter = FilterOf<typeof orderFilters>;
export type CommandFilter = FilterOf<typeof commandFilters>;

/** `-updatedAt`: by the time of the newest stored change, newest first. */
export type OrderSort = 'orderId' | '-updatedAt';

/** `complete` false: only the newest closed orders were counted. */
export interface OrderCounts {
  readonly items: readonly { readonly status: OrderStatus; readonly orders: number }[];
  readonly complete: boolean;
}

/** An order, or a command, whose stored row can't be read. */
export type UnreadableItem =
  | { readonly stream: Stream; readonly orderId: string; readonly accountId: string }
  | { readonly commandId: string };

/**
 * A page, and the start of the next one; `next` is absent on the last. Cursors are opaque to
 * callers; http encodes them.
 */
export interface Page<T> {
  readonly items: readonly T[];
  /** Those of the page whose rows can't be read; left out: none. */
  readonly unreadable?: readonly UnreadableItem[];
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
  /** Sum of the open orders' leavesQty. */
  readonly openQuantity: Decimal;
  readonly unresolvedCommands: number;
  /** Unresolved places and replaces would add this quantity if they were applied. */
  readonly unresolvedQuantity: Decimal;
}

export interface StreamedUpdate {
  readonly seq: bigint;
  readonly stream: Stream;
  readonly orderId: string;
  readonly accountId: string;
  /** The exact text on Kafka. */
  readonly payload: string;
}

/** `recordedAt`: the start of the transaction that stored it, by the database's clock. */
export interface StoredUpdate extends StreamedUpdate {
  readonly revision: number;
  readonly recordedAt: Date;
}

/**
 * A place in the order of events: the transaction that wrote the event, and the event's number. The
 * number tells several in one transaction apart.
 */
export interface EventPosition {
  readonly tx: bigint;
  readonly number: bigint;
}

/** A command's step, or a halt's change. */
export interface StreamedEvent extends EventPosition {
  readonly kind: 'result' | 'halt';
  /** Left out: it concerns every account, or both streams. */
  readonly accountId?: string;
  readonly stream?: Stream;
  /** JSON: for a result the text on Kafka. */
  readonly payload: string;
}

/**
 * Below `horizon` no event can be committed any more; it may be lower in a later answer. `end`:
 * above every transaction there was; never lower later.
 */
export interface EventHorizon {
  readonly horizon: bigint;
  readonly end: bigint;
}

export interface EventPage {
  readonly events: readonly StreamedEvent[];
  /** Everything up to here was read: a full page's last event, or the horizon. */
  readonly upTo: EventPosition;
  /** False: events above the requested position were deleted. */
  readonly complete: boolean;
}

/**
 * The read side of REST: Postgres behind it, on any instance, holder of the lane or not. Every call
 * has a deadline; rejects when the database can't be reached, and a read of one order or command
 * with `UnreadableRowError`.
 */
export interface OrderReads {
  /**
   * By (accountId, stream, orderId) unless `sort` says otherwise, at most `limit`. A page with few
   * matches may be short, or empty, and still have a `next`. If an order changes while its list is
   * read by newest change, it moves to the front. So it may be on no page: the stream of updates
   * has it.
   */
  listOrders(
    scope: AccountScope,
    filter: OrderFilter,
    after: readonly string[] | undefined,
    limit: number,
    sort?: OrderSort,
  ): Promise<Page<StoredOrder>>;
  /** Open orders by status. With `since`: all orders stored in their newest state since then. */
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
  /** Its evidence is the first 50 facts and the newest 150: their numbers show a gap between. */
  findCommand(scope: AccountScope, commandId: string): Promise<CommandWithEvidence | undefined>;
  /** By (accountId, stream). Without a `limit` every one. */
  accounts(scope: AccountScope, after?: readonly string[], limit?: number): Promise<Page<AccountRow>>;
  exposure(scope: AccountScope, accountId: string | undefined): Promise<readonly ExposureRow[]>;
  /**
   * Updates above `afterSeq` by seq, without watermarks. `lastSeq`: the last seq looked at,
   * even if nothing was in this scope; no lane can commit a row up to there any more. `oldestSeq`
   * above `afterSeq + 1`: the rows between are gone.
   */
  updatesAfter(
    scope: AccountScope,
    afterSeq: bigint,
    limit: number,
  ): Promise<{ readonly updates: readonly StreamedUpdate[]; readonly lastSeq: bigint; readonly oldestSeq: bigint }>;
  eventHorizon(): Promise<EventHorizon>;
  /** Every account's events above `after` and below the horizon, by position, at most `limit`. */
  eventsAfter(after: EventPosition, horizon: bigint, limit: number): Promise<EventPage>;
  /** The log's end: a place to continue from, like `lastSeq`. */
  newestSeq(): Promise<bigint>;
}

/** A method of the port, as a function: arguments, result and promises are the port's. */
export type OrderRead<Name extends keyof OrderReads> = (
  pool: Pool,
  ...asked: Parameters<OrderReads[Name]>
) => ReturnType<OrderReads[Name]>;
