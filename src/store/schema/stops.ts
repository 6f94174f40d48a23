import {
  bigint,
  boolean,
  check,
  index,
  integer,
  json,
  jsonb,
  pgTable,
  primaryKey,
  sql,
  text,
  timestamp,
  uniqueIndex,
  uuid,
} from '../drizzle.ts';
import { xid8 } from './commands.ts';

/**
 * Each cancel-all's list, written before its first cancel, one row for each. Never deleted, and
 * never changed except `key_held` and `ended_at` (trigger). The list gives the key its meaning:
 * asked again later, the key covers these orders and no others.
 */
export const cancelAlls = pgTable(
  'cancel_alls',
  {
    cancelAllId: uuid('cancel_all_id').primaryKey(),
    /**
     * This shard's holder wrote it. Another shard has other accounts: there the same key is a
     * different one.
     */
    shard: integer().notNull(),
    principal: text().notNull(),
    idempotencyKey: text('idempotency_key').notNull(),
    /** False once the key may be used again: its cancels are final, and it is seven days old. */
    keyHeld: boolean('key_held').notNull().default(true),
    requestHash: text('request_hash').notNull(),
    /** `CancelAllSelection`. */
    selection: json().notNull(),
    reason: text().notNull(),
    onLanding: text('on_landing').notNull(),
    /**
     * `OrderOfAccount[]`. The cancel for the order at index n has the key `cancel-all:<id>:<n>`.
     */
    orders: json().notNull(),
    /**
     * `PlaceOfAccount[]`. If one places an order, that order's cancel has the key
     * `cancel-all:<id>:<commandId>`.
     */
    places: json().notNull(),
    /** `UnreadAccount[]` */
    unread: json().notNull(),
    /** Accounts with nothing to cancel, and why. */
    declined: json().notNull(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull(),
    /** Null: in force. */
    endedAt: timestamp('ended_at', { withTimezone: true }),
  },
  (t) => [
    uniqueIndex('cancel_alls_one_per_key').on(t.shard, t.principal, t.idempotencyKey).where(sql`${t.keyHeld}`),
    index('cancel_alls_key_held').on(t.createdAt).where(sql`${t.keyHeld}`),
    index('cancel_alls_in_force').on(t.shard, t.createdAt).where(sql`${t.endedAt} is null`),
    check('cancel_alls_on_landing', sql`${t.onLanding} in ('cancel', 'leave')`),
  ],
);

/**
 * Why placing and replacing are stopped, for an account or the service. A person clears a row once;
 * it never changes in another way (trigger).
 */
export const halts = pgTable(
  'halts',
  {
    haltId: text('halt_id').primaryKey(),
    /** Null: the whole service. */
    accountId: text('account_id'),
    cause: text().notNull(),
    reason: text().notNull(),
    raisedBy: text('raised_by').notNull(),
    since: timestamp({ withTimezone: true }).notNull(),
    clearedAt: timestamp('cleared_at', { withTimezone: true }),
    clearedBy: text('cleared_by'),
    clearedReason: text('cleared_reason'),
    /** Rises in the order of commits. */
    number: bigint({ mode: 'bigint' }).notNull().generatedAlwaysAsIdentity(),
  },
  (t) => [
    uniqueIndex('halts_number').on(t.number),
    uniqueIndex('halts_one_active').on(sql`coalesce(${t.accountId}, '')`, t.cause).where(sql`${t.clearedAt} is null`),
    check('halts_account', sql`${t.accountId} <> ''`),
    check(
      'halts_cleared_with_a_reason',
      sql`num_nulls(${t.clearedAt}, ${t.clearedBy}, ${t.clearedReason}) in (0, 3) and ${t.clearedReason} <> ''`,
    ),
  ],
);

/**
 * Each change to a halt, written by the trigger `halts_recorded` in the same transaction. Only the
 * stream of events reads it.
 */
export const haltEvents = pgTable(
  'halt_events',
  {
    txId: xid8('tx_id').notNull().default(sql`pg_current_xact_id()`),
    /** From `command_events`' sequence. */
    id: bigint({ mode: 'bigint' }).notNull().default(sql`nextval('public.command_events_id_seq')`),
    snapshot: json().notNull(),
    recordedAt: timestamp('recorded_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (t) => [primaryKey({ columns: [t.txId, t.id] })],
);

/**
 * The dead man's switch: one timer for each principal and account in a shard. Once it has run out
 * and is not ended, the shard's holder cancels the account's orders.
 */
export const cancelTimers = pgTable(
  'cancel_timers',
  {
    shard: integer().notNull(),
    principal: text().notNull(),
    accountId: text('account_id').notNull(),
    /** A new one with each renewal. The cancel-all it fires has this in its key. */
    timerId: uuid('timer_id').notNull(),
    /** By the database's clock. */
    firesAt: timestamp('fires_at', { withTimezone: true }).notNull(),
    /** Disarmed, or fired with its cancel-all written down. */
    endedAt: timestamp('ended_at', { withTimezone: true }),
    /** How often it was armed, renewed or disarmed: shows a lost change. */
    changes: integer().default(1).notNull(),
  },
  (t) => [
    primaryKey({ name: 'cancel_timers_pk', columns: [t.shard, t.principal, t.accountId] }),
    check('cancel_timers_account', sql`${t.accountId} <> ''`),
  ],
);

/**
 * Acts that need a second principal, as asked for. Another principal approves once; a row never
 * changes in another way (trigger).
 */
export const approvals = pgTable(
  'approvals',
  {
    approvalId: uuid('approval_id').primaryKey(),
    /** `OperatorAction` (store/commands/command-journal.ts). */
    action: json().notNull(),
    /** Null: it concerns every account. */
    accountId: text('account_id'),
    requestedBy: text('requested_by').notNull(),
    reason: text().notNull(),
    requestId: text('request_id').notNull(),
    requestedAt: timestamp('requested_at', { withTimezone: true }).notNull(),
    expiresAt: timestamp('expires_at', { withTimezone: true }).notNull(),
    approvedBy: text('approved_by'),
    approvedReason: text('approved_reason'),
    approvedAt: timestamp('approved_at', { withTimezone: true }),
  },
  (t) => [
    index('approvals_waiting').on(t.expiresAt).where(sql`${t.approvedAt} is null`),
    check('approvals_two_principals', sql`${t.approvedBy} <> ${t.requestedBy}`),
    check(
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
export const limits = pgTable(
  'limits',
  {
    limitsId: bigint('limits_id', { mode: 'bigint' }).primaryKey().generatedAlwaysAsIdentity(),
    /** Null: every principal. */
    principal: text(),
    /** Null: every account. */
    accountId: text('account_id'),
    bounds: jsonb().notNull(),
    changedBy: text('changed_by').notNull(),
    reason: text().notNull(),
    changedAt: timestamp('changed_at', { withTimezone: true }).notNull(),
    /** Rises with every change to any row, in the order of commits. */
    change: bigint({ mode: 'bigint' }).notNull().generatedAlwaysAsIdentity(),
  },
  (t) => [
    uniqueIndex('limits_change').on(t.change),
    uniqueIndex('limits_one_per_scope').on(sql`coalesce(${t.principal}, '')`, sql`coalesce(${t.accountId}, '')`),
    check('limits_scope', sql`${t.principal} <> '' and ${t.accountId} <> ''`),
    check('limits_bounds', sql`jsonb_typeof(${t.bounds}) = 'object' and ${t.bounds} <> '{}'`),
  ],
);
