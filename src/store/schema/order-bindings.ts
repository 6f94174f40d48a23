import { boolean, index, pgTable, primaryKey, text, timestamp, uuid } from 'drizzle-orm/pg-core';

/**
 * Orders that carry the id of an attempt, written with the revision that first shows it by `apply_batch_with_bindings`. The key is the invariant: an order is bound once.
 * No foreign keys: nothing of the journal may make a batch of the stream wait or fail.
 */
export const orderBindings = pgTable(
  'order_bindings',
  {
    stream: text().notNull(),
    orderId: text('order_id').notNull(),
    attemptId: text('attempt_id').notNull(),
    commandId: uuid('command_id').notNull(),
    /** Account, symbol and side are those of the command. */
    matches: boolean().notNull(),
    boundAt: timestamp('bound_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (t) => [primaryKey({ columns: [t.stream, t.orderId] }), index('order_bindings_by_command').on(t.commandId)],
);
