import { sql } from 'drizzle-orm';
import { bigint, index, integer, json, pgTable, timestamp, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { commands } from './commands.ts';

/**
 * The outbox of `tidemark.command-outcomes.v1`: one row for every step of a command, in the transaction of the step. Not the log of updates: journal
 * transactions are slow and concurrent, and would hold up its watermark. Here each row says for itself whether it was published.
 *
 * `id` rises with `version` inside a command (its row is locked from one to the other), and that is all the order that is promised.
 */
export const commandEvents = pgTable(
  'command_events',
  {
    id: bigint({ mode: 'bigint' }).primaryKey().generatedAlwaysAsIdentity(),
    commandId: uuid('command_id')
      .notNull()
      .references(() => commands.commandId),
    version: integer().notNull(),
    /**
     * The command as it was after the step. Encoded when it is published, by the one encoder (domain/encode-command-outcome.ts): the text itself could only
     * be written by a second round trip inside the step, or by a second encoder in SQL.
     */
    snapshot: json().notNull(),
    recordedAt: timestamp('recorded_at', { withTimezone: true }).notNull().defaultNow(),
    publishedAt: timestamp('published_at', { withTimezone: true }),
  },
  (t) => [
    uniqueIndex('command_events_versions').on(t.commandId, t.version),
    index('command_events_unpublished').on(t.id).where(sql`${t.publishedAt} is null`),
  ],
);
