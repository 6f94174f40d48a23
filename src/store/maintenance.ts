import type { Pool } from 'pg';
import { sqlstateOf } from './session/retry-transaction.ts';

interface MaintainLogOptions {
  /** Rows in each partition made from now on. */
  readonly partitionRows: number;
  readonly retentionMs: number;
  /**
   * Waits between two steps of moving states. False: no more in this round. Left out: they follow
   * one another.
   */
  readonly pause?: () => Promise<boolean>;
}

interface MaintainedLog {
  /** Names of the partitions made and dropped. */
  readonly made: readonly string[];
  readonly dropped: readonly string[];
  /**
   * Who keeps the oldest partition, which is due, by a snapshot from before its states moved.
   * Undefined: there is none.
   */
  readonly keptBy: readonly string[] | undefined;
}

/**
 * Rows of the log in one step of moving states. A step takes 5 to 20 ms, and a batch that writes
 * one of its orders waits no longer.
 */
const rowsInStep = 1_000;

/**
 * Makes the log's partitions two ahead. Drops a partition if its newest row is older than the
 * retention and every lane's cursors have passed it, once the newest states in it were moved into
 * `orders`, and no snapshot is from before that. To be called by a timer, from any process: the
 * database lets one at a time work. A partition in use stays until the next call. Rejects when the
 * database can't be reached.
 */
export async function maintainLog(
  pool: Pool,
  { partitionRows, retentionMs, pause }: MaintainLogOptions,
): Promise<MaintainedLog> {
  // First, and in its own statement: without a partition the lane stands still. Without a drop only
  // the disk fills.
  const { rows } = await pool.query<{ made: string[] }>('select public.ensure_log_partitions($1) as made', [
    partitionRows,
  ]);
  const dropped: string[] = [];
  for (;;) {
    if (!(await moveStates(pool, retentionMs, pause))) break;
    const call = "drop_log_partition($1 * interval '1 millisecond')";
    const name = await unlessLocked<string | null>(pool, call, [retentionMs]);
    // There is none to drop, or another session holds it at the moment.
    if (name == null) break;
    dropped.push(name);
  }
  const keptBy = await unlessLocked<string[]>(pool, "log_kept_by($1 * interval '1 millisecond')", [retentionMs]);
  return { made: rows[0]?.made ?? [], dropped, keptBy: keptBy?.length === 0 ? undefined : keptBy };
}

/** False: `pause` ended it, and some states may still be in the oldest partition alone. */
async function moveStates(pool: Pool, retentionMs: number, pause: MaintainLogOptions['pause']): Promise<boolean> {
  for (;;) {
    const call = "move_order_states($1 * interval '1 millisecond', $2)";
    const looked = await unlessLocked<number>(pool, call, [retentionMs, rowsInStep]);
    if (looked === undefined || looked === 0) return true;
    if (pause !== undefined && !(await pause())) return false;
  }
}

/** The result of a function of ours. Undefined: another session holds a table that it needs. */
async function unlessLocked<T>(pool: Pool, call: string, values: readonly unknown[]): Promise<T | undefined> {
  try {
    const { rows } = await pool.query<{ result: T }>(`select public.${call} as result`, [...values]);
    return rows[0]?.result;
  } catch (error) {
    if (sqlstateOf(error) === '55P03') return undefined;
    throw error;
  }
}

interface MaintainCommandsOptions {
  /** How long halts' events are kept. */
  readonly retentionMs: number;
}

interface MaintainedCommands {
  /** Events deleted, and cancel-alls' keys freed. */
  readonly forgotten: number;
  readonly freedKeys: number;
}

/** Rows in one statement. No statement holds locks for long, and the next round takes the rest. */
const rowsAtOnce = 10_000;

/**
 * Deletes halts' events older than the retention. Frees a cancel-all's key after seven days, if
 * all its cancels are final. The journal and cancel-alls stay for good; a command's key is given
 * up when it is used again. To be called by a timer, from any process. Rejects when the database
 * can't be reached.
 */
export async function maintainCommands(
  pool: Pool,
  { retentionMs }: MaintainCommandsOptions,
): Promise<MaintainedCommands> {
  // Only the oldest are looked at. There is no index on the time of recording, since only this
  // statement would use it. The stream's floor rises in the same statement: so a reader below it
  // learns it missed some.
  const { rows } = await pool.query<{ forgotten: string }>(
    `with halts as (
       delete from public.halt_events where (tx_id, id) in (
         select tx_id, id from (select tx_id, id, recorded_at from public.halt_events order by tx_id, id limit $2) as oldest
         where recorded_at < now() - $1 * interval '1 millisecond'
       ) returning tx_id
     ), raised as (
       insert into public.event_floor as f (tx_id) select tx_id from halts where tx_id < pg_current_xact_id() order by tx_id desc limit 1
       on conflict (one) do update set tx_id = case when f.tx_id < pg_current_xact_id() then greatest(f.tx_id, excluded.tx_id) else excluded.tx_id end
     ) select count(*) as forgotten from halts`,
    [retentionMs, rowsAtOnce],
  );
  const cancelAlls = await pool.query(
    `update public.cancel_alls set key_held = false where cancel_all_id in (
       select cancel_all_id from public.cancel_alls c
       where key_held and created_at < now() - interval '7 days' and not public.cancel_all_holds_key(c, clock_timestamp()) limit $1
     ) and key_held`,
    [rowsAtOnce],
  );
  return { forgotten: Number(rows[0]?.forgotten ?? 0), freedKeys: cancelAlls.rowCount ?? 0 };
}

interface MaintainDeadLettersOptions {
  /** The most rows not dealt with. */
  readonly maxUndealt: number;
  /** How long rows dealt with, answered repair requests, and ended jobs are kept. */
  readonly retentionMs: number;
}

/**
 * Keeps the dead letters bounded, and forgets old ones that were dealt with. Once more rows than
 * the bound are not dealt with, the oldest are deleted. Returns how many rows were lost that way.
 * Without it, a platform that sends only unreadable rows would fill the disk, and the readable ones
 * would be lost too. Withdraws repair requests no process took within a day.
 *
 * One statement, since it is asked for all day and seldom finds a row. All its parts see the rows
 * from before it: the request about a row that it drops is withdrawn at the next call. A job goes
 * with its rows: only all of them say how it ended.
 */
export async function maintainDeadLetters(
  pool: Pool,
  { maxUndealt, retentionMs }: MaintainDeadLettersOptions,
): Promise<number> {
  const { rows } = await pool.query<{ dropped: string }>(
    `with dropped as (
       delete from public.dead_letters where id in (
         select id from public.dead_letters where dealt_at is null order by id
         limit greatest(0, (select count(*) from public.dead_letters where dealt_at is null) - $1)
       ) returning id
     ), forgotten as (
       delete from public.dead_letters where dealt_at < now() - $2 * interval '1 millisecond' and recorded_at < now() - $2 * interval '1 millisecond'
     ), withdrawn as (
       update public.repair_requests set answered_at = now(), result = 'withdrawn', detail = 'no process took it within a day, or its row is gone'
       where answered_at is null and (requested_at < now() - interval '1 day'
         or dead_letter_id is not null and not exists (select from public.dead_letters q where q.id = dead_letter_id and q.dealt_at is null))
     ), answered as (
       delete from public.repair_requests where job_id is null and answered_at < now() - $2 * interval '1 millisecond'
     ), ended as (
       delete from public.dead_letter_jobs where ended_at < now() - $2 * interval '1 millisecond'
     ) select count(*) as dropped from dropped`,
    [maxUndealt, retentionMs],
  );
  return Number(rows[0]?.dropped ?? 0);
}

interface Storage {
  /**
   * The database with everything in it, without the write-ahead log and the server's other
   * databases.
   */
  readonly databaseBytes: number;
  /** The log's partitions with their indexes, empty ones included. */
  readonly logBytes: number;
  /**
   * Dead versions of the lanes' rows still there. Pruning keeps them few, unless an old snapshot
   * may still see them.
   */
  readonly laneDeadRows: number;
}

/**
 * The database's space on the disk, by its own count. Rejects when the database can't be reached.
 */
export async function measureStorage(pool: Pool): Promise<Storage> {
  const { rows } = await pool.query<{ database: string; log: string; dead: string }>(
    `select pg_database_size(current_database()) as database,
       (select coalesce(sum(pg_total_relation_size(inhrelid)), 0) from pg_inherits where inhparent = 'public.order_updates'::regclass) as log,
       coalesce(pg_stat_get_dead_tuples('public.lanes'::regclass), 0) as dead`,
  );
  const [{ database, log, dead } = { database: 0, log: 0, dead: 0 }] = rows;
  return { databaseBytes: Number(database), logBytes: Number(log), laneDeadRows: Number(dead) };
}

interface OrderCount {
  readonly stream: string;
  readonly status: string;
  readonly orders: number;
}

/**
 * 64 MB of the table. Up to here every page is read; a larger table is sampled by about this many
 * pages.
 */
const pagesRead = 8_000;

/**
 * How many orders there are by stream and status, for a gauge. Exact while the table is small.
 * Otherwise from a random sample of its pages, scaled up: a million orders of 1 kB take 0.1 s,
 * where reading everything takes seconds. A count kept by the batches would cost every batch a read
 * for the old status.
 */
export async function countOrders(pool: Pool): Promise<OrderCount[]> {
  const share = `least(1, $1::float8 * current_setting('block_size')::int / greatest(1, pg_relation_size('public.orders')))`;
  const { rows } = await pool.query<{ stream: string; status: string; orders: string }>(
    `select stream, status, round(count(*) / ${share}) as orders from public.orders tablesample system (100 * ${share})
     group by stream, status order by stream, status`,
    [pagesRead],
  );
  return rows.map((row) => ({ ...row, orders: Number(row.orders) }));
}
