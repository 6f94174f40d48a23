import { sql } from 'drizzle-orm';
import { check, integer, json, pgTable, primaryKey, text, timestamp, uuid } from 'drizzle-orm/pg-core';
import { evidenceKinds } from './command-words.ts';
import { commands } from './commands.ts';

/** What is known about a command, one fact a row, append only (a trigger refuses everything else, of everybody): a verdict can be computed again from it. */
export const evidence = pgTable(
  'evidence',
  {
    commandId: uuid('command_id')
      .notNull()
      .references(() => commands.commandId),
    number: integer().notNull(),
    kind: text().notNull(),
    code: text().notNull(),
    detail: json().notNull(),
    attemptId: text('attempt_id'),
    at: timestamp({ withTimezone: true }).notNull(),
    /** The database's clock. */
    recordedAt: timestamp('recorded_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (t) => [
    primaryKey({ columns: [t.commandId, t.number] }),
    check('evidence_kind', sql`${t.kind} in (${sql.raw(evidenceKinds)})`),
    check('evidence_number', sql`${t.number} > 0`),
  ],
);
