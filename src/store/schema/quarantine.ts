import { sql } from 'drizzle-orm';
import { bigint, index, integer, pgTable, text, timestamp } from 'drizzle-orm/pg-core';

/** What arrived and could not be understood or taken, kept whole until a person dealt with it. */
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
