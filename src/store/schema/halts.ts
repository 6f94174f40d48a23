import { int8, pg, sql, timestamptz } from '../drizzle.ts';
import { xid8 } from './commands.ts';

/**
 * Each cancel-all's list, written before its first cancel, one row for each. Never deleted, and
 * never changed except `key_held` and `ended_at` (trigger). The list gives the key its meaning:
 * asked again later, the key covers these orders and no others.
 */
export const cancelAlls = pg.pgTable(
  'cancel_alls',
  {
    cancelAllId: pg.uuid().primaryKey(),
    /**
     * This shard's holder wrote it. Another shard has other accounts: there the same key is a
     * different one.
     */
    shard: pg.integer().notNull(),
    principal: pg.text().notNull(),
    idempotencyKey: pg.text().notNull(),
    /** False once the key may be used again: its cancels are final, and it is seven days old. */
    keyHeld: pg.boolean().notNull().default(true),
    requestHash: pg.text().notNull(),
    /** `CancelAllSelection`. */
    selection: pg.json().notNull(),
    reason: pg.text().notNull(),
    onLanding: pg.text().notNull(),
    /**
     * `OrderOfAccount[]`. The cancel for the order at index n has the key `cancel-all:<id>:<n>`
     * (`keyOfCancel`).
     */
    orders: pg.json().notNull(),
    /**
     * `PlaceOfAccount[]`. If one places an order, that order's cancel has the key
     * `cancel-all:<id>:<commandId>`.
     */
    places: pg.json().notNull(),
    /** `UnreadAccount[]` */
    unread: pg.json().notNull(),
    /** Accounts with nothing to cancel, and why. */
    declined: pg.json().notNull(),
    createdAt: timestamptz().notNull(),
    /** Null: in force. */
    endedAt: timestamptz(),
  },
  (t) => [
    pg.uniqueIndex('cancel_alls_one_per_key').on(t.shard, t.principal, t.idempotencyKey).where(sql`${t.keyHeld}`),
    pg.index('cancel_alls_key_held').on(t.createdAt).where(sql`${t.keyHeld}`),
    pg.index('cancel_alls_in_force').on(t.shard, t.createdAt).where(sql`${t.endedAt} is null`),
    pg.check('cancel_alls_on_landing', sql`${t.onLanding} in ('cancel', 'leave')`),
  ],
);

/**
 * Why placing and replacing are stopped, for an account or the service. A person clears a row once;
 * it never changes in another way (trigger).
 */
export const halts = pg.pgTable(
  'halts',
  {
    haltId: pg.text().primaryKey(),
    /** Null: the whole service. */
    accountId: pg.text(),
    cause: pg.text().notNull(),
    reason: pg.text().notNull(),
    raisedBy: pg.text().notNull(),
    since: timestamptz().notNull(),
    clearedAt: timestamptz(),
    clearedBy: pg.text(),
    clearedReason: pg.text(),
  },
  (t) => [
    pg
      .uniqueIndex('halts_one_active')
      .on(sql`coalesce(${t.accountId}, '')`, t.cause)
      .where(sql`${t.clearedAt} is null`),
    pg.check('halts_account', sql`${t.accountId} <> ''`),
    pg.check(
      'halts_cleared_with_a_reason',
      sql`num_nulls(${t.clearedAt}, ${t.clearedBy}, ${t.clearedReason}) in (0, 3) and ${t.clearedReason} <> ''`,
    ),
  ],
);

/**
 * Each change to a halt, written by the trigger `halts_recorded` in the same transaction. Only the
 * stream of events reads it.
 */
export const haltEvents = pg.pgTable(
  'halt_events',
  {
    txId: xid8().notNull().default(sql`pg_current_xact_id()`),
    /** Never one of the journal's numbers. */
    id: int8().notNull().default(sql`nextval('public.event_numbers')`),
    snapshot: pg.json().notNull(),
    recordedAt: timestamptz().notNull().defaultNow(),
  },
  (t) => [pg.primaryKey({ columns: [t.txId, t.id] })],
);

/**
 * The dead man's switch: one timer for each principal and account in a shard. Once it has run out
 * and is not ended, the shard's holder cancels the account's orders.
 */
export const cancelTimers = pg.pgTable(
  'cancel_timers',
  {
    shard: pg.integer().notNull(),
    principal: pg.text().notNull(),
    accountId: pg.text().notNull(),
    /** A new one with each renewal. The cancel-all it fires has this in its key. */
    timerId: pg.uuid().notNull(),
    /** By the database's clock. */
    firesAt: timestamptz().notNull(),
    /** Disarmed, or fired with its cancel-all written down. */
    endedAt: timestamptz(),
    /** How often it was armed, renewed or disarmed: shows a lost change. */
    changes: pg.integer().default(1).notNull(),
  },
  (t) => [
    pg.primaryKey({ name: 'cancel_timers_pk', columns: [t.shard, t.principal, t.accountId] }),
    pg.check('cancel_timers_account', sql`${t.accountId} <> ''`),
  ],
);

/**
 * Acts that need a second principal, as asked for. Another principal approves once; a row never
 * changes in another way (trigger).
 */
export const approvals = pg.pgTable(
  'approvals',
  {
    approvalId: pg.uuid().primaryKey(),
    /** `OperatorAction` (store/commands/command-journal.ts). */
    action: pg.json().notNull(),
    /** Null: it concerns every account. */
    accountId: pg.text(),
    requestedBy: pg.text().notNull(),
    reason: pg.text().notNull(),
    requestId: pg.text().notNull(),
    requestedAt: timestamptz().notNull(),
    expiresAt: timestamptz().notNull(),
    approvedBy: pg.text(),
    approvedReason: pg.text(),
    approvedAt: timestamptz(),
  },
  (t) => [
    pg.index('approvals_waiting').on(t.expiresAt).where(sql`${t.approvedAt} is null`),
    pg.check('approvals_two_principals', sql`${t.approvedBy} <> ${t.requestedBy}`),
    pg.check(
      'approvals_in_time',
      sql`num_nulls(${t.approvedBy}, ${t.approvedReason}, ${t.approvedAt}) in (0, 3) and (${t.approvedAt} is null or ${t.approvedAt} < ${t.expiresAt})`,
    ),
  ],
);

/**
 * Commands must keep these limits before they are journaled: `Bounds` (domain/limits.ts) for one
 * scope each. `judge_limits` reads them in the journaling transaction, `change_limits` writes them.
 * A row without bounds is deleted: the audit trail has its history.
 */
export const limits = pg.pgTable(
  'limits',
  {
    limitsId: int8().primaryKey().generatedAlwaysAsIdentity(),
    /** Null: every principal. */
    principal: pg.text(),
    /** Null: every account. */
    accountId: pg.text(),
    bounds: pg.jsonb().notNull(),
    changedBy: pg.text().notNull(),
    reason: pg.text().notNull(),
    changedAt: timestamptz().notNull(),
    /** Rises with every change to any row, in the order of commits. */
    change: int8().notNull().generatedAlwaysAsIdentity(),
  },
  (t) => [
    pg.uniqueIndex('limits_change').on(t.change),
    pg.uniqueIndex('limits_one_per_scope').on(sql`coalesce(${t.principal}, '')`, sql`coalesce(${t.accountId}, '')`),
    pg.check('limits_scope', sql`${t.principal} <> '' and ${t.accountId} <> ''`),
    pg.check('limits_bounds', sql`jsonb_typeof(${t.bounds}) = 'object' and ${t.bounds} <> '{}'`),
  ],
);
