import { bigint, customType, pgTable, text, timestamp } from 'drizzle-orm/pg-core';

const bytea = customType<{ data: Buffer }>({ dataType: () => 'bytea' });

/** Tokens, sealed (see `encrypt.ts`), and who may refresh them at the moment. */
export const credentials = pgTable('credentials', {
  credential: text().primaryKey(),
  /** 0 while only a claim was made. */
  generation: bigint({ mode: 'number' }).notNull().default(0),
  sealed: bytea(),
  claimedBy: text('claimed_by'),
  claimedUntil: timestamp('claimed_until', { withTimezone: true }),
  updatedAt: timestamp('updated_at', { withTimezone: true }).notNull().defaultNow(),
});
