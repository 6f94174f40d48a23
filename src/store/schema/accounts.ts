import { sql } from 'drizzle-orm';
import { bigint, boolean, customType, index, integer, pgTable, primaryKey, text, timestamp } from 'drizzle-orm/pg-core';

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

/**
 * What a person asks of whoever follows an account, which only the lane's holder does: to read it whole (`backfill`), or to read again what stands in
 * quarantine (`retry`). Answered once; whoever asked and gave up answers it himself (`withdrawn`).
 */
export const repairRequests = pgTable(
  'repair_requests',
  {
    id: bigint({ mode: 'bigint' }).primaryKey().generatedAlwaysAsIdentity(),
    /** `backfill` or `retry`. */
    kind: text().notNull(),
    stream: text().notNull(),
    accountId: text('account_id').notNull(),
    /** The row to deal with, of a `retry`. */
    quarantineId: bigint('quarantine_id', { mode: 'bigint' }),
    requestedAt: timestamp('requested_at', { withTimezone: true }).notNull().defaultNow(),
    answeredAt: timestamp('answered_at', { withTimezone: true }),
    /** `done`, `failed` or `withdrawn`; null while it is open. */
    outcome: text(),
    detail: text(),
  },
  (t) => [index('repair_requests_open').on(t.id).where(sql`${t.answeredAt} is null`)],
);
