import { int8, pg, sql, timestamptz } from '../drizzle.ts';
import { xid8 } from './commands.ts';

/**
 * Every order, and where its newest state is. Only the SQL function `apply_batch` writes it, and
 * `move_order_states` its states. No service role may write here in another way.
 *
 * The newest state is the newest update's in the log, at (`lane`, `seq`): written once. Before that
 * row's partition is dropped, the state moves here (docs/decisions/070). So it is read from the
 * view `current_orders` alone, which Drizzle does not know.
 *
 * `json`, not `jsonb`: no query searches inside the state, and `jsonb` costs 30 % of the
 * throughput. `join_state` is the reducer's own memory (`Head.join`). `fillfactor` 80 (in the
 * migration) leaves room in the page, so an update need not touch an index.
 */
export const orders = pg.pgTable(
  'orders',
  {
    stream: pg.text().notNull(),
    orderId: pg.text().notNull(),
    /** The lane of its newest update. */
    lane: pg.integer().notNull(),
    accountId: pg.text().notNull(),
    symbol: pg.text().notNull(),
    status: pg.text().notNull(),
    /** Not terminal (domain/order.ts). */
    isOpen: pg
      .boolean()
      .notNull()
      .generatedAlwaysAs(sql`status not in ('filled', 'replaced', 'canceled', 'expired', 'rejected')`),
    /** Our own number: 1, 2, 3 … without a gap. */
    revision: pg.bigint({ mode: 'number' }).notNull(),
    /**
     * The revision stored before. `apply_batch` compares it, so two writers never build on the same
     * one.
     */
    reducedFrom: pg.bigint({ mode: 'number' }).notNull().default(0),
    /** The platform's version, int64; null on account orders. */
    sourceVersion: int8(),
    /** Null: it is in the log. */
    state: pg.json(),
    joinState: pg.json().notNull(),
    /** The database's clock at the last write. */
    updatedAt: timestamptz().notNull().defaultNow(),
    /**
     * `updated_at` once the order is over, null while it is open
     * (docs/decisions/029-newest-change-without-an-index-on-it.md).
     */
    closedChangedAt: timestamptz().generatedAlwaysAs(
      sql`case when status in ('filled', 'replaced', 'canceled', 'expired', 'rejected') then updated_at end`,
    ),
    /** Its newest update in the log. No index: none of its updates would stay within the page. */
    seq: int8(),
    /** Where its newest update stood before: `apply_batch` hands it to the next row. */
    beforeSeq: int8(),
    beforeLane: pg.integer(),
  },
  // `is_open` is a separate column because it changes once in an order's life. A partial index on
  // `status` costs the cheap update in the page (HOT) whenever the status changes. The server's CPU
  // for a row, medians of three and more, six updates an order: no second index 16.3 µs · account
  // and order 17.8 µs · this one 19.3 µs · that one and a partial one of open orders 21.7 µs · the
  // partial one on status 23.7 µs (HOT 30 % instead of 51 %).
  (t) => [
    pg.primaryKey({ columns: [t.stream, t.orderId] }),
    pg.index('orders_by_account').on(t.accountId, t.stream, t.isOpen, t.orderId),
    pg
      .index('orders_closed')
      .on(t.accountId, t.stream, t.closedChangedAt, t.orderId)
      .where(sql`${t.closedChangedAt} is not null`),
    pg.check('orders_has_state', sql`state is not null or seq is not null`),
  ],
);

/**
 * How far states were moved from a partition of the log, which begins at `from_seq`, into `orders`;
 * and when: a snapshot from before that may need the partition.
 */
export const movedStates = pg.pgTable(
  'moved_states',
  {
    fromSeq: int8().notNull(),
    lane: pg.integer().notNull(),
    seq: int8().notNull(),
    movedBy: xid8().notNull().default(sql`pg_current_xact_id()`),
    movedAt: timestamptz().notNull().defaultNow(),
  },
  (t) => [pg.primaryKey({ columns: [t.fromSeq, t.lane] })],
);

/**
 * Every accepted change, append only: history, outbox and replay source in one. Only the SQL
 * function `apply_batch` writes it.
 *
 * Partitioned by ranges of `seq`. Drizzle can't say that: `partition by` was added to the generated
 * migration by hand, and the partitions come from `ensure_log_partitions`. The key begins with the
 * lane, so the cost of reading a lane depends only on its own rows (docs/decisions/014). There is
 * no other index: an order's history is the chain from its newest update (docs/decisions/070). A
 * plain sequence, not an identity column: before Postgres 17 a
 * partitioned table can't have one.
 */
export const orderUpdates = pg.pgTable(
  'order_updates',
  {
    seq: int8().notNull().default(sql`nextval('public.order_updates_seq')`),
    lane: pg.integer().notNull(),
    /** The number of the batch that wrote it. */
    batch: int8().notNull(),
    /** `account`, `prediction`, or `watermarks` for a mark. */
    stream: pg.text().notNull(),
    /** For a mark its own id. */
    orderId: pg.text().notNull(),
    /** For a heartbeat, which is about many accounts, its stream. */
    accountId: pg.text().notNull(),
    revision: pg.bigint({ mode: 'number' }).notNull(),
    /** The exact text for Kafka. */
    payload: pg.text().notNull(),
    recordedAt: timestamptz().notNull().defaultNow(),
    /** The order's update before this one; null: there is none. */
    beforeSeq: int8(),
    beforeLane: pg.integer(),
  },
  (t) => [pg.primaryKey({ columns: [t.lane, t.seq] })],
);

/**
 * Orders with an attempt's id. `apply_batch_with_bindings` writes them with the first revision that
 * shows it. An order is bound once, by the comparison of its head's revision; a further order under
 * the same id has another attempt. No foreign keys: the journal must never make the stream's
 * batches wait or fail.
 */
export const orderBindings = pg.pgTable(
  'order_bindings',
  {
    stream: pg.text().notNull(),
    orderId: pg.text().notNull(),
    attemptId: pg.text().notNull(),
    commandId: pg.uuid().notNull(),
    /** Account and side equal the command's. */
    matches: pg.boolean().notNull(),
    boundAt: timestamptz().notNull().defaultNow(),
  },
  (t) => [
    pg.primaryKey({ columns: [t.stream, t.orderId, t.attemptId] }),
    pg.index('order_bindings_by_command').on(t.commandId),
  ],
);

/**
 * How far Kafka has acknowledged each cursor (`log`, `state`) of a lane's relay. Never moves back.
 */
export const relayPositions = pg.pgTable(
  'relay_positions',
  {
    lane: pg.integer().notNull(),
    cursor: pg.text().notNull(),
    seq: int8().notNull(),
    savedAt: timestamptz().notNull().defaultNow(),
  },
  (t) => [pg.primaryKey({ columns: [t.lane, t.cursor] })],
);

/** The topic each kind of record (`updates`, …) was published to, and how far. */
export const publishedTopics = pg.pgTable('published_topics', {
  kind: pg.text().primaryKey(),
  name: pg.text().notNull(),
  ends: int8().array().notNull(),
  lost: pg.text(),
});

/** Data that could not be understood or stored, kept complete until a person has dealt with it. */
export const deadLetters = pg.pgTable(
  'dead_letters',
  {
    id: int8().primaryKey().generatedAlwaysAsIdentity(),
    lane: pg.integer().notNull(),
    batch: int8().notNull(),
    stream: pg.text().notNull(),
    accountId: pg.text(),
    orderId: pg.text(),
    /** Short and stable: a metric label. */
    reason: pg.text().notNull(),
    detail: pg.text().notNull(),
    raw: pg.text().notNull(),
    observedAt: timestamptz().notNull(),
    recordedAt: timestamptz().notNull().defaultNow(),
    dealtAt: timestamptz(),
  },
  (t) => [pg.index('dead_letters_open').on(t.stream, t.reason).where(sql`${t.dealtAt} is null`)],
);
