import type { Pool } from 'pg';
import type { CancelTimer, CancelTimersChange, Fence } from '../commands/command-journal.ts';
import type { RetryDeps } from './retry-transaction.ts';
import { storableJson } from './storable-json.ts';
import { writeOnce } from './write-once.ts';

type Deps = RetryDeps & { readonly pool: Pool };

/** When the timers run out, by the database's clock; undefined: fenced. */
export async function setCancelTimers(
  deps: Deps,
  change: CancelTimersChange,
  { lane, epoch }: Fence,
): Promise<number | undefined> {
  const [row] = await writeOnce<{ fires: string | null }>(deps, {
    text: 'select public.set_cancel_timers($1, $2, $3)::text as fires',
    values: [lane, epoch.toString(), storableJson(change)],
  });
  return row === undefined || row.fires === null ? undefined : Number(row.fires);
}

/** Those of the lane that have neither been disarmed nor fired. */
export async function readArmedCancelTimers(pool: Pool, lane: number): Promise<CancelTimer[]> {
  const { rows } = await pool.query<{ timer_id: string; principal: string; account_id: string; left_ms: string }>(
    `select timer_id, principal, account_id, (extract(epoch from fires_at - clock_timestamp()) * 1000)::text as left_ms
     from public.cancel_timers where lane = $1 and ended_at is null order by fires_at, timer_id`,
    [lane],
  );
  return rows.map((row) => ({
    timerId: row.timer_id,
    principal: row.principal,
    accountId: row.account_id,
    leftMs: Math.max(0, Number(row.left_ms)),
  }));
}

/** False: fenced. */
export async function endCancelTimer(deps: Deps, timerId: string, { lane, epoch }: Fence): Promise<boolean> {
  const [row] = await writeOnce<{ held: boolean }>(deps, {
    text: 'select public.end_cancel_timer($1, $2, $3) as held',
    values: [lane, epoch.toString(), timerId],
  });
  return row?.held === true;
}
