import { bigint, index, json, pgTable, text, timestamp } from 'drizzle-orm/pg-core';

/** Who did what to the command side. Append only (a trigger refuses everything else, of everybody). */
export const auditLog = pgTable(
  'audit_log',
  {
    id: bigint({ mode: 'bigint' }).primaryKey().generatedAlwaysAsIdentity(),
    at: timestamp({ withTimezone: true }).notNull(),
    principal: text().notNull(),
    action: text().notNull(),
    accountId: text('account_id'),
    /** As it was said: a refusal may name a command that never was. */
    commandId: text('command_id'),
    requestId: text('request_id'),
    reason: text(),
    detail: json(),
    recordedAt: timestamp('recorded_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (t) => [index('audit_log_at').on(t.at)],
);
