import { sql } from 'drizzle-orm';
import { bigint, integer, pgTable, primaryKey, text, timestamp } from 'drizzle-orm/pg-core';

/**
 * Every accepted change, append only: history, outbox and replay source in one. Written by the SQL function `apply_batch` alone.
 *
 * Partitioned by ranges of `seq`, which drizzle can't say: `partition by` was added to the generated migration by hand, and the partitions come
 * from `ensure_log_partitions`. The key begins with the lane: its rows are read at a cost of their own (docs/decisions/014).
 * `unique (stream, order_id, revision)` holds in each partition (Postgres has no index over all of them that leaves
 * out the partition key). A plain sequence, not an identity column: before Postgres 17 a partitioned table can't have one.
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
    accountId: text('account_id').notNull(),
    revision: bigint({ mode: 'number' }).notNull(),
    /** The exact text that goes to Kafka. */
    payload: text().notNull(),
    recordedAt: timestamp('recorded_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (t) => [primaryKey({ columns: [t.lane, t.seq] })],
);
