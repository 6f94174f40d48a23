import { int8, pg, sql, timestamptz } from '../drizzle.ts';

/** One row a lane: lock, lease and fence (see `enter_lane`). Times are the database's. */
export const lanes = pg.pgTable('lanes', {
  lane: pg.integer().primaryKey(),
  /** Names one run of one process; null once the lane was given back. */
  holder: pg.text(),
  /** The fencing number: rises with every change of holder, every reclaim and every release. */
  epoch: int8().notNull(),
  renewedAt: timestamptz().notNull(),
  /**
   * In every payload; it counts before the revision. Raised by `begin_generation`, and never
   * lowered.
   */
  generation: pg.integer().notNull().default(1),
  /** When the present holder took the lane. */
  heldSince: timestamptz().notNull().defaultNow(),
  /** An operator wants the holder to give its shards to others, as long as it holds the lane. */
  drained: pg.boolean().notNull().default(false),
  /**
   * The holder says the rest about itself. Here: the address at which its REST answers other
   * processes; null: it takes none of their requests.
   */
  address: pg.text(),
  /** Its part of the shards is in proportion to this; 0: it wants none. */
  weight: pg.doublePrecision().notNull().default(0),
  version: pg.text(),
  draining: pg.boolean().notNull().default(false),
  /** A fault it has and others need not have (domain/judge-fitness.ts); null: none. */
  trouble: pg.text(),
  /** Because of such a fault it takes no shards. */
  unhealthy: pg.boolean().notNull().default(false),
  /** Its report about its work (domain/member-report.ts); empty until it has introduced itself. */
  report: pg.jsonb().notNull().default({}),
  /**
   * Nothing above this batch was published: Kafka could not be asked yet. Null: it was asked. Set
   * where a term begins, or takes shards while Kafka is away, and kept over terms.
   */
  unpublishedAfter: int8(),
});

/**
 * A fixed group of accounts (domain/partition.ts), and the lane whose process follows them.
 * `tidemark migrate` makes the rows, once. A row may change only under a lock on its lane's row;
 * that is no foreign key (see the baseline).
 */
export const shards = pg.pgTable('shards', {
  shard: pg.integer().primaryKey(),
  /** Null: it is free. */
  lane: pg.integer(),
  /** Fences its commands in the journal: rises with every taking. */
  epoch: int8().notNull().default(sql`0`),
  /** An operator wants it to stay with its process, whatever the balance. */
  pinned: pg.boolean().notNull().default(false),
  /** When it was taken, or freed. */
  since: timestamptz().notNull().defaultNow(),
});

/**
 * One row a lane, none before its first batch: the last committed batch's number. It orders batches
 * and answers a lost commit. The number is in the key. So a batch finds the row at once beside any
 * number of dead versions, even those an open snapshot keeps.
 */
export const laneBatches = pg.pgTable(
  'lane_batches',
  {
    lane: pg.integer().notNull(),
    batch: int8().notNull(),
  },
  (t) => [pg.primaryKey({ columns: [t.lane, t.batch] })],
);
