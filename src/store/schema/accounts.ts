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

/** Tokens, sealed (see `seal` in store/token-store.ts), and the process that may refresh them at the moment. */
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
 * Requests of a person to the follower of an account, which is always the lane's holder: to read the account from a time on or completely (`backfill`), to read
 * its newest changes (`read`), or to read an order in quarantine again (`retry`). Answered once; the process that asked and gave up answers the request itself (`withdrawn`).
 */
export const repairRequests = pgTable(
  'repair_requests',
  {
    id: bigint({ mode: 'bigint' }).primaryKey().generatedAlwaysAsIdentity(),
    /** `read`, `backfill` or `retry`. */
    kind: text().notNull(),
    stream: text().notNull(),
    accountId: text('account_id').notNull(),
    /** The quarantine row of a `retry`. */
    quarantineId: bigint('quarantine_id', { mode: 'bigint' }),
    /** Of a `backfill`: orders that changed since then; null: all. */
    since: timestamp({ withTimezone: true }),
    /** The principal and its reason; null where it was asked for at the command line. */
    askedBy: text('asked_by'),
    reason: text(),
    requestedAt: timestamp('requested_at', { withTimezone: true }).notNull().defaultNow(),
    answeredAt: timestamp('answered_at', { withTimezone: true }),
    /** `done`, `failed` or `withdrawn`; null while it is open. */
    outcome: text(),
    detail: text(),
  },
  (t) => [index('repair_requests_open').on(t.id).where(sql`${t.answeredAt} is null`)],
);
