import {
  bigint,
  boolean,
  check,
  index,
  integer,
  json,
  pgTable,
  primaryKey,
  sql,
  text,
  timestamp,
  uuid,
} from '../drizzle.ts';

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
export const orders = pgTable(
  'orders',
  {
    stream: text().notNull(),
    orderId: text('order_id').notNull(),
    /** The lane of its newest update. */
    lane: integer().notNull(),
    accountId: text('account_id').notNull(),
    symbol: text().notNull(),
    status: text().notNull(),
    /** Not terminal (domain/order.ts). */
    isOpen: boolean('is_open')
      .notNull()
      .generatedAlwaysAs(sql`status not in ('filled', 'replaced', 'canceled', 'expired', 'rejected')`),
    /** Our own number: 1, 2, 3 … without a gap. */
    revision: bigint({ mode: 'number' }).notNull(),
    /**
     * The revision stored before. `apply_batch` compares it, so two writers never build on the same
     * one.
     */
    reducedFrom: bigint('reduced_from', { mode: 'number' }).notNull().default(0),
    /** The platform's version, int64; null on account orders. */
    sourceVersion: bigint('source_version', { mode: 'bigint' }),
    /** Null: it is in the log. */
    state: json(),
    joinState: json('join_state').notNull(),
    /** The database's clock at the last write. */
    updatedAt: timestamp('updated_at', { withTimezone: true }).notNull().defaultNow(),
    /**
     * `updated_at` once the order is over, null while it is open
     * (docs/decisions/029-newest-change-without-an-index-on-it.md).
     */
    closedChangedAt: timestamp('closed_changed_at', { withTimezone: true }).generatedAlwaysAs(
      sql`case when status in ('filled', 'replaced', 'canceled', 'expired', 'rejected') then updated_at end`,
    ),
    /** Its newest update in the log. No index: none of its updates would stay within the page. */
    seq: bigint({ mode: 'bigint' }),
    /** Where its newest update stood before: `apply_batch` hands it to the next row. */
    beforeSeq: bigint('before_seq', { mode: 'bigint' }),
    beforeLane: integer('before_lane'),
  },
  // `is_open` is a separate column because it changes once in an order's life. A partial index on
  // `status` costs the cheap update in the page (HOT) whenever the status changes. The server's CPU
  // for a row, medians of three and more, six updates an order: no second index 16.3 µs · account
  // and order 17.8 µs · this one 19.3 µs · that one and a partial one of open orders 21.7 µs · the
  // partial one on status 23.7 µs (HOT 30 % instead of 51 %).
  (t) => [
    primaryKey({ columns: [t.stream, t.orderId] }),
    index('orders_by_account').on(t.accountId, t.stream, t.isOpen, t.orderId),
    index('orders_closed')
      .on(t.accountId, t.stream, t.closedChangedAt, t.orderId)
      .where(sql`${t.closedChangedAt} is not null`),
    check('orders_has_state', sql`state is not null or seq is not null`),
  ],
);

/**
 * How far states were moved from a partition of the log, which begins at `from_seq`, into `orders`.
 */
export const movedStates = pgTable(
  'moved_states',
  {
    fromSeq: bigint('from_seq', { mode: 'bigint' }).notNull(),
    lane: integer().notNull(),
    seq: bigint({ mode: 'bigint' }).notNull(),
  },
  (t) => [primaryKey({ columns: [t.fromSeq, t.lane] })],
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
export const orderUpdates = pgTable(
  'order_updates',
  {
    seq: bigint({ mode: 'bigint' }).notNull().default(sql`nextval('public.order_updates_seq')`),
    lane: integer().notNull(),
    /** The number of the batch that wrote it. */
    batch: bigint({ mode: 'bigint' }).notNull(),
    /** `account`, `prediction`, or `continuity` for a mark. */
    stream: text().notNull(),
    /** For a mark its own id. */
    orderId: text('order_id').notNull(),
    /** For a heartbeat, which is about many accounts, its stream. */
    accountId: text('account_id').notNull(),
    revision: bigint({ mode: 'number' }).notNull(),
    /** The exact text for Kafka. */
    payload: text().notNull(),
    recordedAt: timestamp('recorded_at', { withTimezone: true }).notNull().defaultNow(),
    /** The order's update before this one; null: there is none. */
    beforeSeq: bigint('before_seq', { mode: 'bigint' }),
    beforeLane: integer('before_lane'),
  },
  (t) => [primaryKey({ columns: [t.lane, t.seq] })],
);

/**
 * Orders with an attempt's id. `apply_batch_with_bindings` writes them with the first revision that
 * shows it. The key is the invariant: an order is bound once. No foreign keys: the journal must
 * never make the stream's batches wait or fail.
 */
export const orderBindings = pgTable(
  'order_bindings',
  {
    stream: text().notNull(),
    orderId: text('order_id').notNull(),
    attemptId: text('attempt_id').notNull(),
    commandId: uuid('command_id').notNull(),
    /** Account and side equal the command's. */
    matches: boolean().notNull(),
    boundAt: timestamp('bound_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (t) => [primaryKey({ columns: [t.stream, t.orderId] }), index('order_bindings_by_command').on(t.commandId)],
);

/**
 * How far Kafka has acknowledged each cursor (`log`, `state`) of a lane's relay. Never moves back.
 */
export const relayPositions = pgTable(
  'relay_positions',
  {
    lane: integer().notNull(),
    cursor: text().notNull(),
    seq: bigint({ mode: 'bigint' }).notNull(),
    savedAt: timestamp('saved_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (t) => [primaryKey({ columns: [t.lane, t.cursor] })],
);

/** The topic each kind of record (`updates`, …) was published to, by Kafka's own id. */
export const publishedTopics = pgTable('published_topics', {
  kind: text().primaryKey(),
  name: text().notNull(),
  topicId: text('topic_id').notNull(),
  since: timestamp({ withTimezone: true }).notNull().defaultNow(),
});

/** Data that could not be understood or stored, kept complete until a person has dealt with it. */
export const quarantine = pgTable(
  'quarantine',
  {
    id: bigint({ mode: 'bigint' }).primaryKey().generatedAlwaysAsIdentity(),
    lane: integer().notNull(),
    batch: bigint({ mode: 'bigint' }).notNull(),
    stream: text().notNull(),
    accountId: text('account_id'),
    orderId: text('order_id'),
    /** Short and stable: a metric label. */
    reason: text().notNull(),
    detail: text().notNull(),
    raw: text().notNull(),
    observedAt: timestamp('observed_at', { withTimezone: true }).notNull(),
    recordedAt: timestamp('recorded_at', { withTimezone: true }).notNull().defaultNow(),
    dealtAt: timestamp('dealt_at', { withTimezone: true }),
  },
  (t) => [index('quarantine_open').on(t.stream, t.reason).where(sql`${t.dealtAt} is null`)],
);
