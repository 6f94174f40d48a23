import { sql } from 'drizzle-orm';
import { check, integer, pgTable, primaryKey, text, timestamp, uuid } from 'drizzle-orm/pg-core';

/** The dead man's switch: one timer for each principal and account of a lane. Run out and not ended: the lane's holder cancels the account's orders. */
export const cancelTimers = pgTable(
  'cancel_timers',
  {
    lane: integer().notNull(),
    principal: text().notNull(),
    accountId: text('account_id').notNull(),
    /** Another one with each renewal: what it fires has this in its key. */
    timerId: uuid('timer_id').notNull(),
    /** By the database's clock. */
    firesAt: timestamp('fires_at', { withTimezone: true }).notNull(),
    /** Disarmed, or fired with its cancel-all written down. */
    endedAt: timestamp('ended_at', { withTimezone: true }),
  },
  (t) => [
    primaryKey({ name: 'cancel_timers_pk', columns: [t.lane, t.principal, t.accountId] }),
    check('cancel_timers_account', sql`${t.accountId} <> ''`),
  ],
);
