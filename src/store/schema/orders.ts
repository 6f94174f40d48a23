import { sql } from 'drizzle-orm';
import { bigint, boolean, index, integer, json, pgTable, primaryKey, text, timestamp } from 'drizzle-orm/pg-core';

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
    /** Not terminal (domain/terminal.ts). */
    isOpen: boolean('is_open')
      .notNull()
      .generatedAlwaysAs(sql`status not in ('filled', 'replaced', 'canceled', 'expired', 'rejected')`),
    /** Ours, 1, 2, 3 … without a hole. */
    revision: bigint({ mode: 'number' }).notNull(),
    /** The revision that was stored before: what `apply_batch` compares, so that two writers never build on the same one. */
    reducedFrom: bigint('reduced_from', { mode: 'number' }).notNull().default(0),
    /** The platform's version, int64; null on account orders. */
    sourceVersion: bigint('source_version', { mode: 'bigint' }),
    state: json().notNull(),
    joinState: json('join_state').notNull(),
    /** The database's clock at the last write. */
    updatedAt: timestamp('updated_at', { withTimezone: true }).notNull().defaultNow(),
  },
  // `is_open` is a column of its own because it changes once in an order's life: a partial index on `status` costs the cheap update in the page (HOT)
  // whenever the status changes. The server's CPU for a row, medians of three and more, six updates an order: no second index 16.3 µs · account and order
  // 17.8 µs · this one 19.3 µs · that one and a partial one of open orders 21.7 µs · the partial one on status 23.7 µs (HOT 30 % instead of 51 %).
  (t) => [
    primaryKey({ columns: [t.stream, t.orderId] }),
    index('orders_by_account').on(t.accountId, t.stream, t.isOpen, t.orderId),
  ],
);
