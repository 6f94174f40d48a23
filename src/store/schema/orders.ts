import { bigint, index, integer, json, pgTable, primaryKey, text, timestamp } from 'drizzle-orm/pg-core';

/**
 * The one true state of every order. Written by the SQL function `apply_batch` alone: no role of the service may write here otherwise.
 *
 * `json`, not `jsonb`: nobody searches inside the state, and `jsonb` costs 30 % of the throughput. `join_state` is the reducer's own memory
 * (`Head.join`). `fillfactor` 80 (in the migration) leaves room in the page, so that an update need not touch an index.
 */
export const orders = pgTable(
  'orders',
  {
    stream: text().notNull(),
    orderId: text('order_id').notNull(),
    lane: integer().notNull(),
    accountId: text('account_id').notNull(),
    symbol: text().notNull(),
    status: text().notNull(),
    /** Ours, 1, 2, 3 … without a hole. */
    revision: bigint({ mode: 'number' }).notNull(),
    /** The platform's version, int64; null on account orders. */
    sourceVersion: bigint('source_version', { mode: 'bigint' }),
    state: json().notNull(),
    joinState: json('join_state').notNull(),
    /** The database's clock at the last write. */
    updatedAt: timestamp('updated_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (t) => [primaryKey({ columns: [t.stream, t.orderId] }), index('orders_by_account').on(t.accountId, t.stream, t.orderId)],
);
