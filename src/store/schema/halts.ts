import { sql } from 'drizzle-orm';
import { check, pgTable, text, timestamp, uniqueIndex } from 'drizzle-orm/pg-core';

/** Why placing and replacing stand still, for an account or the service. A row is cleared once, by a person, and never otherwise changed (trigger). */
export const halts = pgTable(
  'halts',
  {
    haltId: text('halt_id').primaryKey(),
    /** Null: the whole service. */
    accountId: text('account_id'),
    cause: text().notNull(),
    reason: text().notNull(),
    raisedBy: text('raised_by').notNull(),
    since: timestamp({ withTimezone: true }).notNull(),
    clearedAt: timestamp('cleared_at', { withTimezone: true }),
    clearedBy: text('cleared_by'),
    clearedReason: text('cleared_reason'),
  },
  (t) => [
    uniqueIndex('halts_one_active').on(sql`coalesce(${t.accountId}, '')`, t.cause).where(sql`${t.clearedAt} is null`),
    check('halts_account', sql`${t.accountId} <> ''`),
    check(
      'halts_cleared_with_a_reason',
      sql`num_nulls(${t.clearedAt}, ${t.clearedBy}, ${t.clearedReason}) in (0, 3) and ${t.clearedReason} <> ''`,
    ),
  ],
);
