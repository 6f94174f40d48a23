import type { Pool, QueryConfig, QueryResult, QueryResultRow } from 'pg';
import type { laneTakeoverCauses } from '../../observability/pipeline-metrics.ts';
import { type Checkpoint, encodeCheckpoints, type LaneCheckpoint } from '../../runtime/lease.ts';
import type { Random } from '../../runtime/random.ts';

/** A hold on the lane: the fencing number, and the last committed batch's number. */
export interface LaneHold {
  readonly epoch: bigint;
  readonly batch: bigint;
  /**
   * Counts before the revision in every payload during the term. It rises with the epoch when the
   * database was restored.
   */
  readonly generation: number;
}

/** How the lane changed hands. */
export interface Takeover {
  /**
   * `first`: the lane never had a holder. `released`: it was given back. `expired`: its holder had
   * not renewed it for too long. `own`: the answer to our own takeover was lost.
   */
  readonly cause: (typeof laneTakeoverCauses)[number];
  /** The former holder; undefined if the lane was free. */
  readonly from: string | undefined;
  /** How long ago it was last renewed, or given back, by the database's clock. */
  readonly idleMs: number;
}

export type AcquireResult = { readonly foundLoss?: FoundLoss } & (
  | ({ readonly kind: 'held'; readonly takeover: Takeover } & LaneHold)
  /** Another holder renewed it `ageMs` ago, by the database's clock. The hold is that holder's. */
  | ({ readonly kind: 'busy'; readonly holder: string; readonly ageMs: number } & LaneHold)
);

/**
 * The database lacks acknowledged commits. This call found it out: it raised the generation and
 * halted placing before the lane was taken.
 */
export interface FoundLoss {
  readonly generation: number;
}

/**
 * The lane's row and its batch number. They are the lease, the fence, the order of batches, and the
 * answer after a lost commit. Times are the database's. Calls reject only when the database can't
 * be reached or answers late. The caller then knows nothing and tries again.
 */
export interface LaneStore {
  /**
   * A lane to ask for. First comes one that `holder` already has, then one without a live holder
   * (with shards before without), then the next number. Another process may take it meanwhile:
   * `acquire` decides.
   */
  pick(holder: string, expireAfterMs: number): Promise<number>;
  /**
   * Takes the lane and raises the epoch, if the lane was not renewed for `expireAfterMs`, was
   * released, or was never held. Also if `holder` itself held it last, so a lost answer costs no
   * lease. `holder` must therefore name one run of one process. If the database lacks
   * `checkpointed` commits, a generation begins first.
   */
  acquire(lane: number, holder: string, expireAfterMs: number, checkpointed?: Checkpoint): Promise<AcquireResult>;
  /**
   * `refused`: the epoch is no longer ours. `forgotten`: it is ours, and the database lacks
   * `checkpointed` commits.
   */
  renew(lane: number, epoch: bigint, checkpointed?: Checkpoint): Promise<'renewed' | 'refused' | 'forgotten'>;
  /**
   * Raises the epoch of a lane we hold, then reads the batch number. Raising waits for an orphaned
   * backend that may still commit, and fences batches still in a buffer. So for every batch sent
   * before, this number decides if it committed. Undefined: the epoch is no longer ours.
   */
  reclaim(lane: number, epoch: bigint): Promise<LaneHold | undefined>;
  /** Kafka can't be asked: what the lane commits from here on is not published before it was. */
  holdBack(lane: number, epoch: bigint): Promise<void>;
  /** Gives the lane back, so a standby need not wait for the lease to expire. */
  release(lane: number, epoch: bigint): Promise<void>;
}

interface HoldRow {
  epoch: string;
  batch: string;
  generation: number;
}

interface TakenRow extends HoldRow {
  from_holder: string | null;
  idle_ms: string;
}

interface LaneRow extends HoldRow {
  holder: string | null;
  age_ms: string;
}

/**
 * The epoch of a row's next holder, as SQL. One given out may be lost with its commit, and the next
 * holder needs a different one, or both would pass the fence. So it rises by a number made from the
 * holder's name and the epoch before: by the name alone, the same holders in another order would
 * come to the same epoch. A gap means nothing.
 */
export function nextEpoch(row: string, holder: string): string {
  return `${row}.epoch + 1 + (hashtext(concat(${holder}, ' ', ${row}.epoch)) & ${0xfffff})`;
}

/** The halt names this as the finder of the loss. */
const finder = 'tidemark';
/** For the rows that were committed while Kafka was away: some million of them. */
const longMs = 120_000;

/**
 * The port `LaneStore` in Postgres: one row a lane, and every change is one statement. None is
 * retried here. Raising the epoch twice in one call would look like a loss to the caller with the
 * first answer. The caller asks again, with `acquire` if necessary.
 */
export class PostgresLaneStore implements LaneStore {
  private readonly pool: Pool;
  private readonly random: Random;
  private readonly firstGeneration: number;

  /**
   * `pool`: not the one for reads, since a renewal must not queue behind them. `firstGeneration`:
   * of a database without lanes. Later `begin_generation` alone raises it, in all lanes at once.
   */
  constructor(
    deps: { readonly pool: Pool; readonly random: Random },
    options: { readonly firstGeneration?: number } = {},
  ) {
    this.pool = deps.pool;
    this.random = deps.random;
    this.firstGeneration = options.firstGeneration ?? 1;
  }

  async pick(holder: string, expireAfterMs: number): Promise<number> {
    const { rows } = await this.pool.query<{ lane: number }>(
      `select lane from (
         select l.lane, l.holder is not distinct from $1 as own, exists (select from public.shards s where s.lane = l.lane) as has_shards
         from public.lanes l where l.holder is null or l.holder = $1
           or abs(extract(epoch from clock_timestamp() - l.renewed_at)) * 1000 >= $2::double precision
         union all
         select coalesce(max(lane) + 1, 0), false, false from public.lanes
       ) as free order by own desc, has_shards desc, lane limit 1`,
      [holder, expireAfterMs],
    );
    return rows[0]?.lane ?? 0;
  }

  async acquire(
    lane: number,
    holder: string,
    expireAfterMs: number,
    checkpointed?: Checkpoint,
  ): Promise<AcquireResult> {
    const foundLoss = checkpointed && (await this.noticeLoss(lane, [{ lane, ...checkpointed }]));
    const found = foundLoss && { foundLoss };
    const held = (await this.takeOver(lane, holder, expireAfterMs)) ?? (await this.createLane(lane, holder));
    if (held !== undefined) {
      // Commits were lost between the two statements: the next try finds it. Nothing was written
      // under this hold, and we may take it again.
      if (foundLoss === undefined && isBehind(held, checkpointed))
        throw new Error('the database lost commits while it was asked for the lane');
      return { kind: 'held', ...held, ...found };
    }
    const { rows } = await this.pool.query<LaneRow>(
      `select holder, epoch, public.lane_batch(lane) as batch, generation, extract(epoch from clock_timestamp() - renewed_at) * 1000 as age_ms
       from public.lanes where lane = $1`,
      [lane],
    );
    const [row] = rows;
    const hold = holdOf(rows);
    if (row === undefined || hold === undefined) throw new Error('the database lost the row of the lane meanwhile');
    return { kind: 'busy', holder: row.holder ?? '', ageMs: Math.round(Number(row.age_ms)), ...hold, ...found };
  }

  async renew(lane: number, epoch: bigint, checkpointed?: Checkpoint): Promise<'renewed' | 'refused' | 'forgotten'> {
    const { rows } = await this.pool.query<{ forgotten: boolean }>(
      `update public.lanes set renewed_at = clock_timestamp() where lane = $1 and epoch = $2
       returning public.lacks_commits($3::json) as forgotten`,
      [lane, epoch.toString(), checkpointed === undefined ? null : encodeCheckpoints([{ lane, ...checkpointed }])],
    );
    const [row] = rows;
    if (row === undefined) return 'refused';
    return row.forgotten ? 'forgotten' : 'renewed';
  }

  /**
   * If the database lacks what was seen of these lanes: begins a generation, halts placing and
   * fences every holder, in one transaction. Undefined: nothing is missing, or another process
   * noticed it before. `epoch`: from the lane's holder, which has asked Kafka and publishes from
   * here on if nothing is missing. What it commits until then goes out under the generation that
   * any process begins. Rejects also when `epoch` is not the lane's any more.
   */
  async noticeLoss(lane: number, seen: readonly LaneCheckpoint[], epoch?: bigint): Promise<FoundLoss | undefined> {
    const statement = {
      text: 'select public.notice_loss($1, $2, $3, $4, $5) as generation',
      values: [lane, encodeCheckpoints(seen), this.random.uuid(), finder, epoch?.toString() ?? null],
    };
    const { rows } = await this.atLength<{ readonly generation: number | null }>(statement);
    const generation = rows[0]?.generation;
    return generation == null ? undefined : { generation };
  }

  /** A statement that may write many rows: all that were committed while Kafka was away. */
  private async atLength<R extends QueryResultRow>(statement: QueryConfig): Promise<QueryResult<R>> {
    const client = await this.pool.connect();
    // A pool listens only to its idle connections; the query rejects as well.
    const ignore = () => undefined;
    client.on('error', ignore);
    let done = false;
    try {
      await client.query(`begin; set local statement_timeout = ${longMs}`);
      const result = await client.query<R>({ ...statement, query_timeout: longMs + 1_000 } as QueryConfig);
      await client.query('commit');
      done = true;
      return result;
    } finally {
      client.off('error', ignore);
      // Where it failed, its session ends, which rolls back.
      client.release(!done);
    }
  }

  async reclaim(lane: number, epoch: bigint): Promise<LaneHold | undefined> {
    // One statement does both. The update waits for the row, and `lane_batch` then reads in its own
    // snapshot. So the number is the one the orphaned backend left.
    const { rows } = await this.pool.query<HoldRow>(
      `update public.lanes set epoch = epoch + 1, renewed_at = clock_timestamp() where lane = $1 and epoch = $2
       returning epoch, public.lane_batch(lane) as batch, generation`,
      [lane, epoch.toString()],
    );
    return holdOf(rows);
  }

  async holdBack(lane: number, epoch: bigint): Promise<void> {
    await this.pool.query(
      `update public.lanes set unpublished_after = public.lane_batch(lane)
       where lane = $1 and epoch = $2 and unpublished_after is null`,
      [lane, epoch.toString()],
    );
  }

  async release(lane: number, epoch: bigint): Promise<void> {
    // The epoch rises as well, so a statement we still have in some buffer can't write after this.
    // The time is when the lane became free.
    await this.pool.query(
      'update public.lanes set holder = null, epoch = epoch + 1, renewed_at = clock_timestamp() where lane = $1 and epoch = $2',
      [lane, epoch.toString()],
    );
  }

  /**
   * A row renewed in the future was written before the database's clock was set back. It counts as
   * an old one. The condition holds no lock when it is false, so a standby's look every second does
   * not burden the lane. The row is locked first, so the former holder is reported as it was at
   * that moment. All lanes have one generation: an account that moves must not fall back. The term
   * has published nothing yet, and those before it perhaps neither.
   */
  private async takeOver(lane: number, holder: string, expireAfterMs: number): Promise<Taken | undefined> {
    const { rows } = await this.pool.query<TakenRow>(
      `update public.lanes l
       set holder = $2, epoch = ${nextEpoch('l', '$2::text')}, renewed_at = clock_timestamp(), generation = (select max(generation) from public.lanes),
         unpublished_after = coalesce(l.unpublished_after, public.lane_batch(l.lane)), held_since = clock_timestamp(), address = null, weight = 0, version = null, draining = false, trouble = null, unhealthy = false, report = '{}',
         drained = l.drained and before.holder is not distinct from $2
       from (select lane, holder, extract(epoch from clock_timestamp() - renewed_at) * 1000 as idle_ms from public.lanes
         where lane = $1 and (holder is null or holder = $2
           or abs(extract(epoch from clock_timestamp() - renewed_at)) * 1000 >= $3::double precision)
         for no key update) as before
       where l.lane = before.lane
       returning l.epoch, public.lane_batch(l.lane) as batch, l.generation, before.holder as from_holder, before.idle_ms`,
      [lane, holder, expireAfterMs],
    );
    const hold = holdOf(rows);
    const [row] = rows;
    if (hold === undefined || row === undefined) return undefined;
    const cause = row.from_holder === null ? 'released' : row.from_holder === holder ? 'own' : 'expired';
    // Below zero if the database's clock was set back.
    const idleMs = Math.max(0, Math.round(Number(row.idle_ms)));
    return { ...hold, takeover: { cause, from: row.from_holder ?? undefined, idleMs } };
  }

  /**
   * The lane's first holder makes its row; if two try, one finds it made. A new lane gets the
   * others' generation, since they share the topics.
   */
  private async createLane(lane: number, holder: string): Promise<Taken | undefined> {
    const { rows } = await this.pool.query<HoldRow>(
      `insert into public.lanes (lane, holder, epoch, renewed_at, generation, unpublished_after)
       select $1, $2, 1, clock_timestamp(), coalesce((select max(generation) from public.lanes), $3), 0
       where not exists (select from public.lanes where lane = $1)
       on conflict do nothing returning epoch, public.lane_batch(lane) as batch, generation`,
      [lane, holder, this.firstGeneration],
    );
    const hold = holdOf(rows);
    return hold && { ...hold, takeover: { cause: 'first', from: undefined, idleMs: 0 } };
  }
}

type Taken = LaneHold & { readonly takeover: Takeover };

/** The lane's numbers never fall within a generation. */
function isBehind(hold: LaneHold, checkpointed: Checkpoint | undefined): boolean {
  return checkpointed !== undefined && hold.generation <= checkpointed.generation && hold.batch < checkpointed.batch;
}

function holdOf(rows: readonly HoldRow[]): LaneHold | undefined {
  const [row] = rows;
  if (row === undefined) return undefined;
  return { epoch: BigInt(row.epoch), batch: BigInt(row.batch), generation: row.generation };
}

export interface AfterRestoreOptions {
  /** The lane is created if the copy does not know it. */
  readonly lane: number;
  /** The new generation is at least this. */
  readonly least: number;
  readonly haltId: string;
  /** The person who did it, for the halt. */
  readonly by: string;
  readonly partitionRows: number;
}

export interface AfterRestore {
  /** Every lane's generation from now on. */
  readonly generation: number;
  /** Attempts prepared when the copy was made. They count as sent now. */
  readonly attempts: number;
}

/**
 * Prepares a database for further use when it is an older copy of itself. The function
 * `after_restore` (src/store/sql/losses.sql) has the steps and the reasons. One transaction; a
 * running holder is fenced and begins again. Only for the owner: 42501 for a member of
 * tidemark_app.
 */
export async function afterRestore(pool: Pool, options: AfterRestoreOptions): Promise<AfterRestore> {
  const { lane, least, haltId, by, partitionRows } = options;
  const { rows } = await pool.query<AfterRestore>(
    'select generation, attempts from public.after_restore($1, $2, $3, $4)',
    [lane, least, haltId, by],
  );
  const [row] = rows;
  if (row === undefined) throw new Error('after_restore returned nothing');
  // The log's numbers have jumped past its partitions. Without a new one the first batch would wait
  // for the process that maintains them.
  await pool.query('select public.ensure_log_partitions($1)', [partitionRows]);
  return row;
}
