import { int8, pg, sql, timestamptz } from '../drizzle.ts';

/** A transaction's number, 64 bits. It rises as transactions begin to write, not as they commit. */
export const xid8 = pg.customType<{ data: string }>({ dataType: () => 'xid8' });

/**
 * The journal of commands (domain/command.ts): a row for each thing that happens to one, never
 * deleted, and never changed but for `key_held`. An opening is number 1, and has columns for
 * conditions and sums. A step, a mark or a miss has the state after it, so a command is as its
 * newest row says. Only readers parse `body`
 * (docs/decisions/113-the-journal-is-one-append-only-table.md).
 */
export const journal = pg.pgTable(
  'journal',
  {
    /** From the shard's holder, in its order. A number may be missing. */
    seq: int8().notNull(),
    /**
     * For the stream of events. It must know that no earlier row can be committed any more
     * (docs/decisions/030-an-id-of-two-positions.md).
     */
    txId: xid8().notNull().default(sql`pg_current_xact_id()`),
    commandId: pg.uuid(),
    /** By the holder's clock, to the millisecond. */
    at: timestamptz().notNull(),
    /** The database's clock. */
    recordedAt: timestamptz().notNull().defaultNow(),
    epoch: int8().notNull(),
    shard: pg.integer().notNull(),
    /** In its command: 1, 2, 3 and so on. Two writers cannot both write one. */
    number: pg.integer(),
    /** The command's. A mark or a miss leaves it as it is. */
    version: pg.integer(),
    kind: pg.text().notNull(),
    fromState: pg.text(),
    state: pg.text(),
    /** The attempt it moves or opens, by number. */
    attempt: pg.integer(),
    attemptFrom: pg.text(),
    attemptState: pg.text(),
    /** It prepares this attempt. */
    attemptId: pg.text(),
    orderId: pg.text(),
    /** As it was in this transaction. */
    orderStatus: pg.text(),
    resolvedAt: timestamptz(),
    // An opening's columns.
    principal: pg.text(),
    idempotencyKey: pg.text(),
    /** False once the key was used again: the command had been final for seven days. */
    keyHeld: pg.boolean(),
    requestKind: pg.text(),
    stream: pg.text(),
    accountId: pg.text(),
    /** Only for a place; otherwise the order has it. */
    symbol: pg.text(),
    side: pg.text(),
    callerRef: pg.text(),
    supersedes: pg.uuid(),
    /**
     * The money the command would add to its account, as valued when it was journaled. Null: a
     * cancel, or not known.
     */
    exposure: pg.numeric(),
    /** The newest change to the limits it was judged by; 0: there was none. */
    limitsChange: int8(),
    /** The number of the database token it was asked for with. Null: it came in another way. */
    tokenNumber: pg.integer(),
    /** JSON of `journal-rows.ts`. */
    body: pg.text().notNull(),
  },
  (t) => [
    pg.primaryKey({ name: 'journal_pkey', columns: [t.shard, t.seq] }),
    pg.uniqueIndex('journal_numbers').on(t.commandId, t.number),
    pg.index('journal_by_transaction').on(t.txId, t.seq),
    // `journal_one_per_key` is in store/sql/journal.sql, with NULLS NOT DISTINCT.
    pg.uniqueIndex('journal_attempts').on(t.attemptId).where(sql`${t.attemptId} is not null`),
    pg.index('journal_newest').on(t.at, t.commandId).where(sql`${t.kind} = 'opening'`),
    pg.index('journal_by_account').on(t.accountId, t.at, t.commandId).where(sql`${t.kind} = 'opening'`),
    // Not unique: there may be several if all but one failed (`not_sent`, `refused`), and one of
    // the failed may still turn out to have landed. `append_journal` checks this when one begins.
    pg.index('journal_successors').on(t.supersedes).where(sql`${t.supersedes} is not null`),
    // For references used once, and for `?callerRef=`: 0.03 ms each among 300,000 commands. With
    // the time instead of the principal, the first took 116 ms if another principal had given one
    // reference to 100,000 commands. A page of those comes fast from `journal_newest`.
    pg.index('journal_by_caller_ref').on(t.callerRef, t.principal).where(sql`${t.callerRef} is not null`),
    // A replace or cancel names its order when it is opened.
    pg.index('journal_of_order').on(t.stream, t.orderId).where(sql`${t.kind} = 'opening' and ${t.orderId} is not null`),
    // Final, and not `applied` with an order: if such a place has one, it has landed late.
    pg
      .index('journal_came_to_nothing')
      .on(t.shard, t.commandId)
      .where(sql`${t.resolvedAt} is not null and (${t.orderId} is null or ${t.state} <> 'applied')`),
    // One call each: with a check for each rule, every statement read their trees anew, 1.2 ms.
    pg.check(
      'journal_row',
      sql`public.journal_allows(${t.kind}, ${t.number}, ${t.version}, ${t.fromState}, ${t.state}, ${t.attempt}, ${t.attemptFrom}, ${t.attemptState}, ${t.attemptId}, ${t.orderId}, ${t.resolvedAt})`,
    ),
    pg.check(
      'journal_opening',
      sql`public.journal_opening_allows(${t.kind}, ${t.commandId}, ${t.principal}, ${t.idempotencyKey}, ${t.keyHeld}, ${t.requestKind}, ${t.stream}, ${t.accountId}, ${t.symbol}, ${t.side}, ${t.callerRef}, ${t.supersedes}, ${t.exposure}, ${t.limitsChange}, ${t.tokenNumber}, ${t.orderId})`,
    ),
  ],
);

/**
 * Commands not final, or without an answer to an attempt. A row comes with the opening and goes
 * with the last step: limits, halts, lists and takeovers ask for these alone.
 */
export const openCommands = pg.pgTable(
  'open_commands',
  {
    accountId: pg.text().notNull(),
    commandId: pg.uuid().notNull(),
    shard: pg.integer().notNull(),
    /** `open`; `doubtful`: unknown, or in conflict; `resolved`: only an answer is missing. */
    standing: pg.text().notNull(),
  },
  (t) => [
    pg.primaryKey({ name: 'open_commands_pkey', columns: [t.accountId, t.commandId] }),
    pg.check('open_commands_standing', sql`${t.standing} in ('open', 'doubtful', 'resolved')`),
  ],
);

/**
 * Facts about a command beside its rows, from any process, append only: a former holder's late
 * answer, a read. A fact stands behind the newest row at its time.
 */
export const facts = pg.pgTable(
  'facts',
  {
    commandId: pg.uuid().notNull(),
    behind: pg.integer().notNull(),
    id: int8().notNull().generatedAlwaysAsIdentity(),
    recordedAt: timestamptz().notNull().defaultNow(),
    /** `StoredFact[]` of `journal-rows.ts`. */
    body: pg.text().notNull(),
  },
  (t) => [pg.primaryKey({ name: 'facts_pkey', columns: [t.commandId, t.behind, t.id] })],
);

/** How far Kafka has acknowledged the steps of each shard. */
export const resultPositions = pg.pgTable('result_positions', {
  shard: pg.integer().primaryKey(),
  seq: int8().notNull(),
  /**
   * The newest takeover's. Until it is the shard's, the holder before may still commit a step below
   * the highest.
   */
  epoch: int8().notNull(),
});

/**
 * The stream's events (steps, changes of halts) were deleted up to this transaction. At most one
 * row.
 */
export const eventFloor = pg.pgTable(
  'event_floor',
  { one: pg.boolean().primaryKey().default(true), txId: xid8().notNull() },
  (t) => [pg.check('event_floor_one', sql`${t.one}`)],
);
