import { bigint, integer, pgTable } from 'drizzle-orm/pg-core';

/**
 * Under which epoch the journal may be written. Not the lane's own row: every batch locks that one, and journal transactions would wait for batches and
 * batches for them. A journal transaction locks this row `for share` until it commits, `take_over_commands` raises it.
 */
export const commandFence = pgTable('command_fence', {
  lane: integer().primaryKey(),
  epoch: bigint({ mode: 'bigint' }).notNull(),
});
