import type { Pool } from 'pg';

export interface MaintainQuarantineOptions {
  /** Rows at most that nobody has dealt with. */
  readonly maxUndealt: number;
  /** How long answered requests for repair are kept. */
  readonly retentionMs: number;
}

/**
 * Keeps the quarantine bounded: what nobody deals with goes, the oldest first, once there is more than the bound of it. Returns how many rows were lost that way. A platform
 * that sends nothing but what we cannot read would fill the disk else, and take with it what we can. Withdraws requests for repair that nobody took within a day.
 */
export async function maintainQuarantine(pool: Pool, { maxUndealt, retentionMs }: MaintainQuarantineOptions): Promise<number> {
  const { rowCount } = await pool.query(
    `delete from public.quarantine where id in (
       select id from public.quarantine where dealt_at is null order by id
       limit greatest(0, (select count(*) from public.quarantine where dealt_at is null) - $1)
     )`,
    [maxUndealt],
  );
  await pool.query(
    `update public.repair_requests set answered_at = now(), outcome = 'withdrawn', detail = 'nobody took it within a day'
     where answered_at is null and requested_at < now() - interval '1 day'`,
  );
  await pool.query(`delete from public.repair_requests where answered_at < now() - $1 * interval '1 millisecond'`, [retentionMs]);
  return rowCount ?? 0;
}
