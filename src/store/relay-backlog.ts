import type { Pool } from 'pg';
import type { RelayCursor } from '../relay/update-log.ts';

/** How far a cursor of a lane is, and the newest row behind it. */
export interface RelayBacklog {
  readonly cursor: RelayCursor;
  readonly passed: bigint;
  /** Undefined: nothing waits. */
  readonly newest: bigint | undefined;
}

/** Both cursors of a lane. Rejects when the database can't be reached. */
export async function relayBacklog(pool: Pool, lane: number): Promise<readonly RelayBacklog[]> {
  const { rows } = await pool.query<{ cursor: RelayCursor; passed: string; newest: string | null }>(
    `select c.cursor, coalesce(r.seq, 0) as passed,
       (select u.seq from public.order_updates u where u.lane = $1 and u.seq > coalesce(r.seq, 0) order by u.seq desc limit 1) as newest
     from (values ('log'), ('state')) as c(cursor) left join public.relay_positions r on r.lane = $1 and r.cursor = c.cursor`,
    [lane],
  );
  return rows.map(({ cursor, passed, newest }) => ({
    cursor,
    passed: BigInt(passed),
    newest: newest === null ? undefined : BigInt(newest),
  }));
}
