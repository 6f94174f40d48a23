import { pg, sql } from '../drizzle.ts';

/** A transaction's number, 64 bits. It rises as transactions begin to write, not as they commit. */
export const xid8 = pg.customType<{ data: string }>({ dataType: () => 'xid8' });

/** Lists of words for CHECK constraints, as SQL. */
export const commandKinds = "'place', 'replace', 'cancel'";

/** `isFinal` in domain/command.ts. */
export const finalStates = "'refused', 'not_sent', 'applied', 'rejected', 'moot'";

export const attemptStates = "'prepared', 'sending', 'not_sent', 'refused', 'rejected', 'accepted', 'unknown'";

export const evidenceKinds = "'answer', 'update', 'read', 'note', 'person'";

/**
 * Callers' commands (domain/command.ts), one row for each, never deleted. Written by the SQL
 * functions `open_command`, `step_command` and `take_over_commands`. The trigger `commands_guard`
 * refuses every forbidden step, from every writer.
 *
 * What never changes comes first, and no index names a column that a step changes before the
 * command is final. So a step stays in its page, writes no entry of an index, and its log has
 * little more than the few bytes that changed (docs/decisions/069-a-step-stays-in-its-page.md).
 */
export const commands = pg.pgTable(
  'commands',
  {
    commandId: pg.uuid('command_id').primaryKey(),
    shard: pg.integer().notNull(),
    principal: pg.text().notNull(),
    idempotencyKey: pg.text('idempotency_key').notNull(),
    requestHash: pg.text('request_hash').notNull(),
    kind: pg.text().notNull(),
    stream: pg.text().notNull(),
    accountId: pg.text('account_id').notNull(),
    /** Only for a place; otherwise the order has it. */
    symbol: pg.text(),
    side: pg.text(),
    /** The whole `CommandRequest`. */
    request: pg.json().notNull(),
    callerRef: pg.text('caller_ref'),
    supersedes: pg.uuid(),
    baseline: pg.json(),
    /**
     * The money the command would add to its account, as valued when it was journaled. Null: a
     * cancel, or not known.
     */
    exposure: pg.numeric(),
    /** The newest change to the limits it was judged by; 0: there was none. */
    limitsChange: pg.bigint('limits_change', { mode: 'bigint' }).notNull().default(sql`0`),
    /** The number of the database token it was asked for with. Null: it came in another way. */
    tokenNumber: pg.integer('token_number'),
    /** A command's times come from the holder's clock, to the millisecond. */
    deadlineAt: pg.timestamp('deadline_at', { withTimezone: true }).notNull(),
    createdAt: pg.timestamp('created_at', { withTimezone: true }).notNull(),
    // What follows changes.
    /** False once the key may be used again: the command has been final for seven days. */
    keyHeld: pg.boolean('key_held').notNull().default(true),
    state: pg.text().notNull(),
    /** Rises by one with every step. */
    version: pg.integer().notNull(),
    orderId: pg.text('order_id'),
    reason: pg.json(),
    presumedAbsent: pg.boolean('presumed_absent').notNull().default(false),
    pendingRevision: pg.bigint('pending_revision', { mode: 'number' }),
    pendingVersion: pg.bigint('pending_version', { mode: 'bigint' }),
    misses: pg.integer().notNull().default(0),
    updatedAt: pg.timestamp('updated_at', { withTimezone: true }).notNull(),
    resolvedAt: pg.timestamp('resolved_at', { withTimezone: true }),
    /**
     * A final place, except those `applied` with an order. If one has an order, it has landed late.
     * A column of its own, because an index that names the state would change with every step.
     */
    cameToNothing: pg
      .boolean('came_to_nothing')
      .notNull()
      .generatedAlwaysAs(sql`kind = 'place' and resolved_at is not null and (order_id is null or state <> 'applied')`),
  },
  (t) => [
    // `commands_one_per_key` is in store/sql/journal.sql, with NULLS NOT DISTINCT.
    // Not unique: there may be several if all but one failed (`not_sent`, `refused`), and one of
    // the failed may still turn out to have landed. The trigger checks this when one begins.
    pg.index('commands_successors').on(t.supersedes).where(sql`${t.supersedes} is not null`),
    pg.index('commands_newest').on(t.createdAt, t.commandId),
    pg.index('commands_by_account').on(t.accountId, t.createdAt, t.commandId),
    // For references used once, and for `?callerRef=`: 0.03 ms each among 300,000 commands. With
    // the time instead of the principal, the first took 116 ms if another principal had given one
    // reference to 100,000 commands. A page of those comes fast from `commands_newest`.
    pg.index('commands_by_caller_ref').on(t.callerRef, t.principal).where(sql`${t.callerRef} is not null`),
    pg.index('commands_not_final').on(t.accountId, t.createdAt).where(sql`${t.resolvedAt} is null`),
    pg.index('commands_key_held').on(t.createdAt).where(sql`${t.keyHeld}`),
    // Both columns are those of the request: a replace or cancel names its order when it is opened.
    pg.index('commands_of_order').on(t.stream, t.orderId).where(sql`${t.kind} <> 'place'`),
    pg.index('commands_came_to_nothing').on(t.shard, t.commandId).where(sql`${t.cameToNothing}`),
    pg.index('commands_resolved').on(t.resolvedAt).where(sql`${t.resolvedAt} is not null`),
    pg.check('commands_kind', sql`${t.kind} in (${sql.raw(commandKinds)})`),
    pg.check('commands_stream', sql`${t.stream} in ('account', 'prediction')`),
    pg.check(
      'commands_state',
      sql`${t.state} in ('open', 'refused', 'not_sent', 'accepted', 'unknown', 'applied', 'rejected', 'moot', 'conflict')`,
    ),
    pg.check(
      'commands_resolved_is_final',
      sql`(${t.resolvedAt} is not null) = (${t.state} in (${sql.raw(finalStates)}))`,
    ),
    pg.check('commands_absence_is_of_unknown', sql`not ${t.presumedAbsent} or ${t.state} = 'unknown'`),
    pg.check(
      'commands_place_has_terms',
      sql`${t.kind} <> 'place' or (${t.symbol} is not null and ${t.side} is not null)`,
    ),
    pg.check('commands_of_an_order_name_it', sql`${t.kind} = 'place' or ${t.orderId} is not null`),
    pg.check('commands_no_cancel_supersedes', sql`${t.supersedes} is null or ${t.kind} <> 'cancel'`),
    pg.check('commands_counts', sql`${t.version} > 0 and ${t.misses} >= 0`),
  ],
);

/**
 * Each is one write to the platform. The trigger `attempts_guard` enforces the other rules: numbers
 * without a gap, prepared → sending once, no step after a final state.
 */
export const attempts = pg.pgTable(
  'attempts',
  {
    attemptId: pg.text('attempt_id').primaryKey(),
    commandId: pg
      .uuid('command_id')
      .notNull()
      .references(() => commands.commandId),
    number: pg.integer().notNull(),
    /** It was prepared under this epoch of the shard. */
    epoch: pg.bigint({ mode: 'bigint' }).notNull(),
    preparedAt: pg.timestamp('prepared_at', { withTimezone: true }).notNull(),
    // What follows changes.
    state: pg.text().notNull(),
    sendingAt: pg.timestamp('sending_at', { withTimezone: true }),
    answeredAt: pg.timestamp('answered_at', { withTimezone: true }),
    reason: pg.json(),
    /** It may have placed something. */
    inDoubt: pg.boolean('in_doubt').notNull().generatedAlwaysAs(sql`state not in ('not_sent', 'refused')`),
    inFlight: pg.boolean('in_flight').notNull().generatedAlwaysAs(sql`state in ('prepared', 'sending')`),
  },
  (t) => [
    pg.uniqueIndex('attempts_numbered').on(t.commandId, t.number),
    // The promise itself: a second write comes only after the one before it is recorded as not
    // sent, or was refused.
    pg.uniqueIndex('attempts_one_in_doubt').on(t.commandId).where(sql`${t.inDoubt}`),
    pg.index('attempts_in_flight').on(t.epoch).where(sql`${t.inFlight}`),
    pg.check('attempts_id', sql`starts_with(${t.attemptId}, 'tm-') and length(${t.attemptId}) <= 64`),
    pg.check('attempts_state', sql`${t.state} in (${sql.raw(attemptStates)})`),
    pg.check('attempts_number', sql`${t.number} > 0`),
  ],
);

/**
 * The known facts about a command, one a row, append only (a trigger refuses every other change,
 * from every role). A verdict can be computed again from them.
 */
export const evidence = pg.pgTable(
  'evidence',
  {
    commandId: pg
      .uuid('command_id')
      .notNull()
      .references(() => commands.commandId),
    number: pg.integer().notNull(),
    kind: pg.text().notNull(),
    code: pg.text().notNull(),
    detail: pg.json().notNull(),
    attemptId: pg.text('attempt_id'),
    at: pg.timestamp({ withTimezone: true }).notNull(),
    /** The database's clock. */
    recordedAt: pg.timestamp('recorded_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (t) => [
    pg.primaryKey({ columns: [t.commandId, t.number] }),
    pg.check('evidence_kind', sql`${t.kind} in (${sql.raw(evidenceKinds)})`),
    pg.check('evidence_number', sql`${t.number} > 0`),
  ],
);

/**
 * One row for every step of a command, in the step's transaction, never changed: for
 * `tidemark.command-outcomes.v1` and the stream of events. Not the log of updates: journal
 * transactions are slow and concurrent, and would delay its watermark.
 *
 * It has what the step may change. `event_json` reads the rest from the command and its attempts,
 * which never changes; the text is encoded when it is published, by the one encoder
 * (domain/encode-command-outcome.ts).
 *
 * `id` rises with `version` inside a command (its row is locked from one to the next). No other
 * order is promised.
 */
export const commandEvents = pg.pgTable(
  'command_events',
  {
    /**
     * For the stream of events. It must know that no earlier row can be committed any more
     * (docs/decisions/030-an-id-of-two-positions.md).
     */
    txId: xid8('tx_id').notNull().default(sql`pg_current_xact_id()`),
    id: pg.bigint({ mode: 'bigint' }).generatedAlwaysAsIdentity(),
    commandId: pg
      .uuid('command_id')
      .notNull()
      .references(() => commands.commandId),
    version: pg.integer().notNull(),
    misses: pg.integer().notNull(),
    presumedAbsent: pg.boolean('presumed_absent').notNull(),
    updatedAt: pg.timestamp('updated_at', { withTimezone: true }).notNull(),
    resolvedAt: pg.timestamp('resolved_at', { withTimezone: true }),
    recordedAt: pg.timestamp('recorded_at', { withTimezone: true }).notNull().defaultNow(),
    pendingRevision: pg.bigint('pending_revision', { mode: 'number' }),
    pendingVersion: pg.bigint('pending_version', { mode: 'bigint' }),
    state: pg.text().notNull(),
    orderId: pg.text('order_id'),
    orderStatus: pg.text('order_status'),
    reason: pg.json(),
    /** By number: state, when it was sent and answered (milliseconds), reason. */
    attempts: pg.json().notNull(),
  },
  (t) => [
    pg.primaryKey({ columns: [t.txId, t.id] }),
    pg.uniqueIndex('command_events_versions').on(t.commandId, t.version),
  ],
);

/**
 * The events that Kafka has not acknowledged. A row comes with its event and is deleted once the
 * event is published, so publishing rewrites no event
 * (docs/decisions/068-an-event-is-written-once.md).
 */
export const commandOutbox = pg.pgTable('command_outbox', {
  /** That of the event. */
  id: pg.bigint({ mode: 'bigint' }).primaryKey(),
  shard: pg.integer().notNull(),
  version: pg.integer().notNull(),
  commandId: pg.uuid('command_id').notNull(),
});

/**
 * The stream's events (steps, changes of halts) were deleted up to this transaction. At most one
 * row.
 */
export const eventFloor = pg.pgTable(
  'event_floor',
  { one: pg.boolean().primaryKey().default(true), txId: xid8('tx_id').notNull() },
  (t) => [pg.check('event_floor_one', sql`${t.one}`)],
);
