import { sql } from 'drizzle-orm';
import { bigint, index, pgTable, text, timestamp } from 'drizzle-orm/pg-core';

/**
 * What a person asks of whoever follows an account, which only the lane's holder does: to read it whole (`backfill`), or to read again what stands in
 * quarantine (`retry`). Answered once; whoever asked and gave up answers it himself (`withdrawn`).
 */
export const repairRequests = pgTable(
  'repair_requests',
  {
    id: bigint({ mode: 'bigint' }).primaryKey().generatedAlwaysAsIdentity(),
    /** `backfill` or `retry`. */
    kind: text().notNull(),
    stream: text().notNull(),
    accountId: text('account_id').notNull(),
    /** The row to deal with, of a `retry`. */
    quarantineId: bigint('quarantine_id', { mode: 'bigint' }),
    requestedAt: timestamp('requested_at', { withTimezone: true }).notNull().defaultNow(),
    answeredAt: timestamp('answered_at', { withTimezone: true }),
    /** `done`, `failed` or `withdrawn`; null while it is open. */
    outcome: text(),
    detail: text(),
  },
  (t) => [index('repair_requests_open').on(t.id).where(sql`${t.answeredAt} is null`)],
);
