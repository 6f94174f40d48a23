import { boolean, integer, pgTable, primaryKey, text, timestamp } from 'drizzle-orm/pg-core';

/** The accounts that we follow, and how far their last complete read went. */
export const accounts = pgTable(
  'accounts',
  {
    stream: text().notNull(),
    accountId: text('account_id').notNull(),
    isSim: boolean('is_sim').notNull(),
    /** Rises when the platform lost its store; never falls. */
    sourceEpoch: integer('source_epoch').notNull(),
    /** The platform's own text: a timestamptz would cut its nanoseconds. */
    readUpTo: text('read_up_to'),
    updatedAt: timestamp('updated_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (t) => [primaryKey({ columns: [t.stream, t.accountId] })],
);
