import { bigint, integer, pgTable, text, timestamp } from 'drizzle-orm/pg-core';

/** One row a lane: lease, fence, order of batches, and the answer to a lost commit (see `enter_lane`). Times are the database's. */
export const lanes = pgTable('lanes', {
  lane: integer().primaryKey(),
  /** Names one run of one process; null once it was given back. */
  holder: text(),
  /** The fencing number: rises with every change of holder, every reclaim and every release. */
  epoch: bigint({ mode: 'bigint' }).notNull(),
  /** The number of the last committed batch. */
  batch: bigint({ mode: 'bigint' }).notNull(),
  renewedAt: timestamp('renewed_at', { withTimezone: true }).notNull(),
  /** Stands in every payload, above the revision. Raised by `begin_generation`, and never lowered. */
  generation: integer().notNull().default(1),
});
