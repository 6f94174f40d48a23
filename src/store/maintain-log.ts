import type { Pool } from 'pg';
import { sqlstateOf } from './sqlstate.ts';

export interface MaintainLogOptions {
  /** Rows of each partition made from now on. */
  readonly partitionRows: number;
  readonly retentionMs: number;
}

export interface MaintainedLog {
  /** Names of the partitions made and dropped. */
  readonly made: readonly string[];
  readonly dropped: readonly string[];
  /** Rows of the quarantine, dealt with and older than the retention, that were deleted. */
  readonly forgotten: number;
}

/**
 * Makes the log's partitions two ahead, and drops those whose newest row is older than the retention and that every cursor of every lane has passed. To be
 * called by a timer, from any process: the database lets one at a time work. A partition that is in use stays for the next time. Rejects when the database
 * can't be reached.
 */
export async function maintainLog(pool: Pool, { partitionRows, retentionMs }: MaintainLogOptions): Promise<MaintainedLog> {
  // First, and in a statement of its own: without a partition the lane stands still, without a drop nothing but the disk grows.
  const { rows } = await pool.query<{ made: string[] }>('select public.ensure_log_partitions($1) as made', [partitionRows]);
  const dropped: string[] = [];
  for (;;) {
    const name = await dropPartition(pool, retentionMs);
    if (name === null) break;
    dropped.push(name);
  }
  const { rowCount } = await pool.query(
    `delete from public.quarantine where dealt_at < now() - $1 * interval '1 millisecond' and recorded_at < now() - $1 * interval '1 millisecond'`,
    [retentionMs],
  );
  return { made: rows[0]?.made ?? [], dropped, forgotten: rowCount ?? 0 };
}

/** Null: there is none to drop, or somebody holds it at the moment. */
async function dropPartition(pool: Pool, retentionMs: number): Promise<string | null> {
  try {
    const { rows } = await pool.query<{ name: string | null }>(
      `select public.drop_log_partition($1 * interval '1 millisecond') as name`,
      [retentionMs],
    );
    return rows[0]?.name ?? null;
  } catch (error) {
    if (sqlstateOf(error) === '55P03') return null;
    throw error;
  }
}
