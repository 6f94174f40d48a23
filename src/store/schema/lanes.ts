import {
  bigint,
  boolean,
  doublePrecision,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  sql,
  text,
  timestamp,
} from '../drizzle.ts';

/** One row a lane: lock, lease and fence (see `enter_lane`). Times are the database's. */
export const lanes = pgTable('lanes', {
  lane: integer().primaryKey(),
  /** Names one run of one process; null once the lane was given back. */
  holder: text(),
  /** The fencing number: rises with every change of holder, every reclaim and every release. */
  epoch: bigint({ mode: 'bigint' }).notNull(),
  renewedAt: timestamp('renewed_at', { withTimezone: true }).notNull(),
  /**
   * In every payload; it counts before the revision. Raised by
   * `begin_generation`, and never lowered.
   */
  generation: integer().notNull().default(1),
  /** When the present holder took the lane. */
  heldSince: timestamp('held_since', { withTimezone: true }).notNull().defaultNow(),
  /**
   * An operator wants the holder to give its shards to others, for as long as it holds the lane.
   */
  drained: boolean().notNull().default(false),
  /**
   * The rest is what the holder says of itself. Where its REST answers other processes; null: it
   * takes no requests of theirs.
   */
  address: text(),
  /** Its part of the shards is in proportion to this; 0: it wants none. */
  weight: doublePrecision().notNull().default(0),
  version: text(),
  draining: boolean().notNull().default(false),
  /** A fault that it has, and that others need not have (domain/judge-fitness.ts); null: none. */
  trouble: text(),
  /** It takes no shards for such a fault. */
  unfit: boolean().notNull().default(false),
  /** It holds every active halt up to this number. */
  haltsHeld: bigint('halts_held', { mode: 'bigint' }).notNull().default(sql`0`),
  /** What it says of its work (domain/member-report.ts); empty until it has introduced itself. */
  report: jsonb().notNull().default({}),
});

/**
 * A fixed group of accounts (domain/partition.ts), and the lane whose process follows them.
 * `tidemark migrate` makes the rows, once. A row may change only under a lock on the row of its
 * lane, which is no foreign key (see the baseline).
 */
export const shards = pgTable('shards', {
  shard: integer().primaryKey(),
  /** Null: it is free. */
  lane: integer(),
  /** The fence of its commands in the journal: rises with every taking. */
  epoch: bigint({ mode: 'bigint' }).notNull().default(sql`0`),
  /** An operator wants it to stay with its process, whatever the balance. */
  pinned: boolean().notNull().default(false),
  /** When it was taken, or freed. */
  since: timestamp({ withTimezone: true }).notNull().defaultNow(),
});

/**
 * One row a lane, none before its first batch: the number of the last committed batch, which orders
 * batches and answers a lost commit. The number is in the key, so that a batch finds the row at
 * once beside any number of dead versions, which an open snapshot keeps.
 */
export const laneBatches = pgTable(
  'lane_batches',
  {
    lane: integer().notNull(),
    batch: bigint({ mode: 'bigint' }).notNull(),
  },
  (t) => [primaryKey({ columns: [t.lane, t.batch] })],
);
