import { bytea, int8, pg, sql, timestamptz } from '../drizzle.ts';

/** The accounts we follow, and how far their last complete read went. */
export const accounts = pg.pgTable(
  'accounts',
  {
    stream: pg.text().notNull(),
    accountId: pg.text().notNull(),
    isSim: pg.boolean().notNull(),
    /** Rises when the platform lost its store; never falls. */
    sourceEpoch: pg.integer().notNull(),
    /** The platform's own text: a timestamptz would cut its nanoseconds. */
    readUpTo: pg.text(),
    /** The same for reads that look back far. */
    auditedUpTo: pg.text(),
    updatedAt: timestamptz().notNull().defaultNow(),
  },
  (t) => [pg.primaryKey({ columns: [t.stream, t.accountId] })],
);

/**
 * Sealed tokens (see `seal` in store/token-store.ts), and the process that may refresh them at the
 * moment.
 */
export const credentials = pg.pgTable('credentials', {
  credential: pg.text().primaryKey(),
  /** 0 while only a claim was made. */
  generation: pg.bigint({ mode: 'number' }).notNull().default(0),
  sealed: bytea(),
  claimedBy: pg.text(),
  claimedUntil: timestamptz(),
  updatedAt: timestamptz().notNull().defaultNow(),
});

/**
 * A retry or a discard for every dead letter that matched a filter at one moment. A discard has
 * ended with its statement. The rows of a retry are requests in `repair_requests`, written with it,
 * so they show its progress; it ends once: when none is open any more, or by a person who cancels
 * it.
 */
export const deadLetterJobs = pg.pgTable(
  'dead_letter_jobs',
  {
    jobId: pg.uuid().primaryKey(),
    /** `retry` or `discard`. */
    action: pg.text().notNull(),
    /** `DeadLetterFilter`, as asked for. */
    filter: pg.json().notNull(),
    /** Its rows may belong to these accounts; null: to every account, or to none. */
    accounts: pg.text().array(),
    reason: pg.text().notNull(),
    askedBy: pg.text().notNull(),
    requestId: pg.text().notNull(),
    askedAt: timestamptz().notNull().defaultNow(),
    endedAt: timestamptz(),
    cancelledBy: pg.text(),
    /** Rows that it dealt with; 0 for a retry. */
    discarded: pg.integer().notNull().default(0),
  },
  (t) => [
    pg.index('dead_letter_jobs_asked').on(t.askedAt),
    pg.check('dead_letter_jobs_action', sql`${t.action} in ('retry', 'discard')`),
    pg.check('dead_letter_jobs_reason', sql`${t.reason} <> ''`),
    pg.check('dead_letter_jobs_cancelled', sql`${t.cancelledBy} is null or ${t.endedAt} is not null`),
  ],
);

/**
 * A person's requests to an account's follower, always the lane's holder. They ask to read the
 * account completely or from a time on (`backfill`), to read its newest changes (`read`), or to
 * read the order of a dead letter again (`retry`). The rows of a job's retry are here too. Answered
 * once. If the asking process gives up, it answers the request itself (`withdrawn`).
 */
export const repairRequests = pg.pgTable(
  'repair_requests',
  {
    id: int8().primaryKey().generatedAlwaysAsIdentity(),
    /** `read`, `backfill` or `retry`. */
    kind: pg.text().notNull(),
    stream: pg.text().notNull(),
    /** Null only in a job: the row names no account. */
    accountId: pg.text(),
    /** The dead letter for a `retry`. */
    deadLetterId: int8(),
    /** Null: asked for by itself. */
    jobId: pg.uuid(),
    /** For a `backfill`: orders changed since then; null: all. */
    since: timestamptz(),
    /** The principal and its reason; null if asked for at the command line. */
    askedBy: pg.text(),
    reason: pg.text(),
    requestedAt: timestamptz().notNull().defaultNow(),
    answeredAt: timestamptz(),
    /** `done`, `failed` or `withdrawn`; null while it is open. */
    result: pg.text(),
    detail: pg.text(),
  },
  (t) => [
    pg.index('repair_requests_open').on(t.id).where(sql`${t.answeredAt} is null`),
    pg.index('repair_requests_by_job').on(t.jobId, t.result).where(sql`${t.jobId} is not null`),
    pg.index('repair_requests_by_row').on(t.deadLetterId).where(sql`${t.deadLetterId} is not null`),
    pg
      .foreignKey({ name: 'repair_requests_job_id_fkey', columns: [t.jobId], foreignColumns: [deadLetterJobs.jobId] })
      .onDelete('cascade'),
    pg.check(
      'repair_requests_kind',
      sql`${t.kind} in ('read', 'backfill') and ${t.deadLetterId} is null and ${t.jobId} is null
        or ${t.kind} = 'retry' and ${t.deadLetterId} is not null`,
    ),
    pg.check('repair_requests_since', sql`${t.since} is null or ${t.kind} = 'backfill'`),
    pg.check(
      'repair_requests_answer',
      sql`num_nulls(${t.answeredAt}, ${t.result}) in (0, 2) and ${t.result} in ('done', 'failed', 'withdrawn')`,
    ),
    pg.check('repair_requests_account', sql`${t.accountId} is not null or ${t.jobId} is not null`),
  ],
);
