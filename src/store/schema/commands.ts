import { sql } from 'drizzle-orm';
import {
  bigint,
  boolean,
  check,
  index,
  integer,
  json,
  numeric,
  pgTable,
  text,
  timestamp,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core';
import { commandKinds, finalStates } from './command-words.ts';

/**
 * What callers asked for (domain/command.ts), one row a command, never deleted. Written by the SQL functions `open_command`, `step_command` and
 * `take_over_commands`; the trigger `commands_guard` refuses every step that no code may make, whoever makes it.
 *
 * Few rows and few writes beside the log: an index more costs nothing that matters, on a mutable column neither.
 */
export const commands = pgTable(
  'commands',
  {
    commandId: uuid('command_id').primaryKey(),
    lane: integer().notNull(),
    principal: text().notNull(),
    idempotencyKey: text('idempotency_key').notNull(),
    /** False once the key may be used again: the command is final, and seven days old. */
    keyHeld: boolean('key_held').notNull().default(true),
    requestHash: text('request_hash').notNull(),
    kind: text().notNull(),
    stream: text().notNull(),
    accountId: text('account_id').notNull(),
    /** Of a place; the order has them otherwise. */
    symbol: text(),
    side: text(),
    /** The whole `CommandRequest`. */
    request: json().notNull(),
    callerRef: text('caller_ref'),
    supersedes: uuid(),
    state: text().notNull(),
    /** Rises by one with every step. */
    version: integer().notNull(),
    orderId: text('order_id'),
    reason: json(),
    presumedAbsent: boolean('presumed_absent').notNull().default(false),
    pendingRevision: bigint('pending_revision', { mode: 'number' }),
    pendingVersion: bigint('pending_version', { mode: 'bigint' }),
    misses: integer().notNull().default(0),
    baseline: json(),
    /** Money that it would add to its account, as it was valued when it was journaled. Null: a cancel, or not known. */
    exposure: numeric(),
    /** Times of a command are the holder's, to the millisecond. */
    deadlineAt: timestamp('deadline_at', { withTimezone: true }).notNull(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull(),
    updatedAt: timestamp('updated_at', { withTimezone: true }).notNull(),
    settledAt: timestamp('settled_at', { withTimezone: true }),
  },
  (t) => [
    uniqueIndex('commands_one_per_key').on(t.principal, t.idempotencyKey).where(sql`${t.keyHeld}`),
    uniqueIndex('commands_one_place_per_order')
      .on(t.stream, t.orderId)
      .where(sql`${t.kind} = 'place' and ${t.orderId} is not null`),
    // Not unique: of several all but one came to nothing, and one of those may turn out to have landed. The trigger holds them to that as they begin.
    index('commands_successors').on(t.supersedes).where(sql`${t.supersedes} is not null`),
    index('commands_newest').on(t.createdAt, t.commandId),
    index('commands_by_account').on(t.accountId, t.createdAt, t.commandId),
    index('commands_by_key').on(t.idempotencyKey),
    // For references that are used once, and for `?callerRef=`: 0.03 ms each among 300,000 commands. With the time in the principal's place the first took 116 ms where
    // another principal had given one reference to 100,000; a page of that one comes from `commands_newest` at once.
    index('commands_by_caller_ref').on(t.callerRef, t.principal).where(sql`${t.callerRef} is not null`),
    index('commands_not_final').on(t.accountId, t.createdAt).where(sql`${t.settledAt} is null`),
    index('commands_key_held').on(t.createdAt).where(sql`${t.keyHeld}`),
    // The predicate is on what never changes: steps stay HOT.
    index('commands_of_order').on(t.stream, t.orderId).where(sql`${t.kind} <> 'place'`),
    // Places that came to nothing: an order of one of them has landed late.
    index('commands_came_to_nothing')
      .on(t.commandId)
      .where(sql`${t.kind} = 'place' and ${t.settledAt} is not null and (${t.orderId} is null or ${t.state} <> 'applied')`),
    index('commands_settled').on(t.settledAt).where(sql`${t.settledAt} is not null`),
    check('commands_kind', sql`${t.kind} in (${sql.raw(commandKinds)})`),
    check('commands_stream', sql`${t.stream} in ('account', 'prediction')`),
    check(
      'commands_state',
      sql`${t.state} in ('open', 'refused', 'not_sent', 'accepted', 'unknown', 'applied', 'rejected', 'moot', 'conflict')`,
    ),
    check('commands_settled_is_final', sql`(${t.settledAt} is not null) = (${t.state} in (${sql.raw(finalStates)}))`),
    check('commands_absence_is_of_unknown', sql`not ${t.presumedAbsent} or ${t.state} = 'unknown'`),
    check('commands_place_has_terms', sql`${t.kind} <> 'place' or (${t.symbol} is not null and ${t.side} is not null)`),
    check('commands_of_an_order_name_it', sql`${t.kind} = 'place' or ${t.orderId} is not null`),
    check('commands_only_places_supersede', sql`${t.supersedes} is null or ${t.kind} = 'place'`),
    check('commands_counts', sql`${t.version} > 0 and ${t.misses} >= 0`),
  ],
);
