import { bigint, integer, pgTable, primaryKey, text, timestamp } from 'drizzle-orm/pg-core';

/** How far each cursor (`log`, `state`) of a lane's relay is acknowledged by Kafka. Never moves back. */
export const relayPositions = pgTable(
  'relay_positions',
  {
    lane: integer().notNull(),
    cursor: text().notNull(),
    seq: bigint({ mode: 'bigint' }).notNull(),
    savedAt: timestamp('saved_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (t) => [primaryKey({ columns: [t.lane, t.cursor] })],
);
