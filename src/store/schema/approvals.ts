import { sql } from 'drizzle-orm';
import { check, index, json, pgTable, text, timestamp, uuid } from 'drizzle-orm/pg-core';

/** What needs a second principal, as it was asked for. Approved once, by another principal, and never otherwise changed (trigger). */
export const approvals = pgTable(
  'approvals',
  {
    approvalId: uuid('approval_id').primaryKey(),
    /** `Deed` (commands/command-journal.ts). */
    deed: json().notNull(),
    /** Null: it concerns every account. */
    accountId: text('account_id'),
    requestedBy: text('requested_by').notNull(),
    reason: text().notNull(),
    requestId: text('request_id').notNull(),
    requestedAt: timestamp('requested_at', { withTimezone: true }).notNull(),
    expiresAt: timestamp('expires_at', { withTimezone: true }).notNull(),
    approvedBy: text('approved_by'),
    approvedReason: text('approved_reason'),
    approvedAt: timestamp('approved_at', { withTimezone: true }),
  },
  (t) => [
    index('approvals_waiting').on(t.expiresAt).where(sql`${t.approvedAt} is null`),
    check('approvals_two_principals', sql`${t.approvedBy} <> ${t.requestedBy}`),
    check(
      'approvals_in_time',
      sql`num_nulls(${t.approvedBy}, ${t.approvedReason}, ${t.approvedAt}) in (0, 3) and (${t.approvedAt} is null or ${t.approvedAt} < ${t.expiresAt})`,
    ),
  ],
);
