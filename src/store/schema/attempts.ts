import { sql } from 'drizzle-orm';
import { bigint, check, index, integer, json, pgTable, text, timestamp, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { attemptStates } from './command-words.ts';
import { commands } from './commands.ts';

/** One write to the platform each. The trigger `attempts_guard` holds the rest: numbers without a hole, prepared → sending once, no way out of an end. */
export const attempts = pgTable(
  'attempts',
  {
    attemptId: text('attempt_id').primaryKey(),
    commandId: uuid('command_id')
      .notNull()
      .references(() => commands.commandId),
    number: integer().notNull(),
    state: text().notNull(),
    /** The lane's epoch under which it was prepared. */
    epoch: bigint({ mode: 'bigint' }).notNull(),
    preparedAt: timestamp('prepared_at', { withTimezone: true }).notNull(),
    sendingAt: timestamp('sending_at', { withTimezone: true }),
    answeredAt: timestamp('answered_at', { withTimezone: true }),
    reason: json(),
  },
  (t) => [
    uniqueIndex('attempts_numbered').on(t.commandId, t.number),
    // The promise itself: a second write only after the one before it is documented as not sent, or was refused.
    uniqueIndex('attempts_one_in_doubt').on(t.commandId).where(sql`${t.state} not in ('not_sent', 'refused')`),
    index('attempts_in_flight').on(t.epoch).where(sql`${t.state} in ('prepared', 'sending')`),
    check('attempts_id', sql`starts_with(${t.attemptId}, 'tm-') and length(${t.attemptId}) <= 64`),
    check('attempts_state', sql`${t.state} in (${sql.raw(attemptStates)})`),
    check('attempts_number', sql`${t.number} > 0`),
  ],
);
