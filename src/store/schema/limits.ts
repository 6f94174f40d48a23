import { sql } from 'drizzle-orm';
import { bigint, check, jsonb, pgTable, text, timestamp, uniqueIndex } from 'drizzle-orm/pg-core';

/**
 * What commands are held to before they are journaled: `Bounds` (domain/limits.ts) in one scope each. Read by `judge_limits` in the transaction that journals, written by
 * `change_limits`. A row without bounds is deleted: the audit trail has its history.
 */
export const limits = pgTable(
  'limits',
  {
    limitsId: bigint('limits_id', { mode: 'bigint' }).primaryKey().generatedAlwaysAsIdentity(),
    /** Null: every principal. */
    principal: text(),
    /** Null: every account. */
    accountId: text('account_id'),
    bounds: jsonb().notNull(),
    changedBy: text('changed_by').notNull(),
    reason: text().notNull(),
    changedAt: timestamp('changed_at', { withTimezone: true }).notNull(),
  },
  (t) => [
    uniqueIndex('limits_one_per_scope').on(sql`coalesce(${t.principal}, '')`, sql`coalesce(${t.accountId}, '')`),
    check('limits_scope', sql`${t.principal} <> '' and ${t.accountId} <> ''`),
    check('limits_bounds', sql`jsonb_typeof(${t.bounds}) = 'object' and ${t.bounds} <> '{}'`),
  ],
);
