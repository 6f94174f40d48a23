import {
  bigint,
  boolean,
  check,
  customType,
  index,
  integer,
  json,
  pgTable,
  primaryKey,
  sql,
  text,
  timestamp,
  uuid,
} from '../drizzle.ts';

/** The accounts we follow, and how far their last complete read went. */
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
    /** The same for reads that look back far. */
    auditedUpTo: text('audited_up_to'),
    updatedAt: timestamp('updated_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (t) => [primaryKey({ columns: [t.stream, t.accountId] })],
);

const bytea = customType<{ data: Buffer }>({ dataType: () => 'bytea' });

/**
 * Sealed tokens (see `seal` in store/token-store.ts), and the process that may refresh them at the
 * moment.
 */
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
 * A retry or a discard for every quarantine row that matched a filter at one moment. Its rows are
 * requests in `repair_requests`, written with it, so they show its progress. Ended once: when none
 * is open any more, or by a person who cancels it.
 */
export const quarantineJobs = pgTable(
  'quarantine_jobs',
  {
    jobId: uuid('job_id').primaryKey(),
    /** `retry` or `discard`. */
    action: text().notNull(),
    /** `QuarantineFilter`, as asked for. */
    filter: json().notNull(),
    /** Its rows may belong to these accounts; null: to every account, or to none. */
    accounts: text().array(),
    reason: text().notNull(),
    askedBy: text('asked_by').notNull(),
    requestId: text('request_id').notNull(),
    askedAt: timestamp('asked_at', { withTimezone: true }).notNull().defaultNow(),
    endedAt: timestamp('ended_at', { withTimezone: true }),
    cancelledBy: text('cancelled_by'),
  },
  (t) => [
    index('quarantine_jobs_asked').on(t.askedAt),
    check('quarantine_jobs_action', sql`${t.action} in ('retry', 'discard')`),
    check('quarantine_jobs_reason', sql`${t.reason} <> ''`),
    check('quarantine_jobs_cancelled', sql`${t.cancelledBy} is null or ${t.endedAt} is not null`),
  ],
);

/**
 * A person's requests to an account's follower, always the lane's holder. They ask to read the
 * account completely or from a time on (`backfill`), to read its newest changes (`read`), or to
 * read an order in quarantine again (`retry`). A job's rows are here too; those to `discard` are
 * for the holder of the row's lane. Answered once. If the asking process gives up, it answers the
 * request itself (`withdrawn`).
 */
export const repairRequests = pgTable(
  'repair_requests',
  {
    id: bigint({ mode: 'bigint' }).primaryKey().generatedAlwaysAsIdentity(),
    /** `read`, `backfill`, `retry` or `discard`. */
    kind: text().notNull(),
    stream: text().notNull(),
    /** Null only in a job: the row names no account. */
    accountId: text('account_id'),
    /** The quarantine row for a `retry` or a `discard`. */
    quarantineId: bigint('quarantine_id', { mode: 'bigint' }),
    /** Null: asked for by itself. */
    jobId: uuid('job_id').references(() => quarantineJobs.jobId, { onDelete: 'cascade' }),
    /** For a `backfill`: orders changed since then; null: all. */
    since: timestamp({ withTimezone: true }),
    /** The principal and its reason; null if asked for at the command line. */
    askedBy: text('asked_by'),
    reason: text(),
    requestedAt: timestamp('requested_at', { withTimezone: true }).notNull().defaultNow(),
    answeredAt: timestamp('answered_at', { withTimezone: true }),
    /** `done`, `failed` or `withdrawn`; null while it is open. */
    outcome: text(),
    detail: text(),
  },
  (t) => [
    index('repair_requests_open').on(t.id).where(sql`${t.answeredAt} is null`),
    index('repair_requests_by_job').on(t.jobId, t.outcome).where(sql`${t.jobId} is not null`),
    index('repair_requests_by_row').on(t.quarantineId).where(sql`${t.quarantineId} is not null`),
    check('repair_requests_account', sql`${t.accountId} is not null or ${t.jobId} is not null`),
  ],
);
