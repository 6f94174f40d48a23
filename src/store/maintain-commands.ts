import type { Pool } from 'pg';

export interface MaintainCommandsOptions {
  /** How long published events are kept. */
  readonly retentionMs: number;
}

export interface MaintainedCommands {
  /** Events deleted, and idempotency keys that may be used again. */
  readonly forgotten: number;
  readonly freedKeys: number;
}

/** Rows of one statement: none of them holds locks for long, and the next round takes the rest. */
const rowsAtOnce = 10_000;

/**
 * Deletes events that were published and are older than the retention, and frees the keys of commands that are final and seven days old, and of cancel-alls whose cancels
 * are. Commands, attempts, evidence and cancel-alls stay for good; what is not final keeps its key. To be called by a timer, from any process. Rejects when the database can't be reached.
 */
export async function maintainCommands(pool: Pool, { retentionMs }: MaintainCommandsOptions): Promise<MaintainedCommands> {
  // The oldest by id are looked at, no more: there is no index on when they were published, which only this would use.
  const events = await pool.query(
    `delete from public.command_events where id in (
       select id from (select id, published_at from public.command_events order by id limit $2) as oldest
       where published_at < clock_timestamp() - $1 * interval '1 millisecond'
     )`,
    [retentionMs, rowsAtOnce],
  );
  const keys = await pool.query(
    `update public.commands set key_held = false where command_id in (
       select command_id from public.commands where key_held and settled_at is not null and created_at < clock_timestamp() - interval '7 days' limit $1
     ) and key_held and settled_at is not null`,
    [rowsAtOnce],
  );
  const cancelAlls = await pool.query(
    `update public.cancel_alls set key_held = false where cancel_all_id in (
       select cancel_all_id from public.cancel_alls c
       where key_held and created_at < clock_timestamp() - interval '7 days' and not public.cancel_all_holds_key(c, clock_timestamp()) limit $1
     ) and key_held`,
    [rowsAtOnce],
  );
  return { forgotten: events.rowCount ?? 0, freedKeys: (keys.rowCount ?? 0) + (cancelAlls.rowCount ?? 0) };
}
