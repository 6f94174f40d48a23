import type { Pool } from 'pg';
import type { LimitsChange } from '../commands/command-journal.ts';
import type { Bounds, LimitRow } from '../domain/limits.ts';
import type { RetryDeps } from './retry-transaction.ts';
import { storableJson } from './storable-json.ts';
import { writeOnce } from './write-once.ts';

interface Row {
  readonly principal: string | null;
  readonly account_id: string | null;
  readonly bounds: Bounds;
  readonly changed_by: string;
  readonly reason: string;
  readonly changed_ms: string;
}

/** Rows of limits are few: people write them. */
export async function readLimits(pool: Pool): Promise<LimitRow[]> {
  const { rows } = await pool.query<Row>(
    `select principal, account_id, bounds, changed_by, reason, public.time_to_ms(changed_at) as changed_ms
     from public.limits order by coalesce(principal, ''), coalesce(account_id, '')`,
  );
  return rows.map(({ principal, account_id, bounds, changed_by, reason, changed_ms }) => ({
    ...(principal !== null && { principal }),
    ...(account_id !== null && { accountId: account_id }),
    bounds,
    changedBy: changed_by,
    reason,
    changedAtMs: Number(changed_ms),
  }));
}

export async function changeLimits(deps: RetryDeps & { readonly pool: Pool }, change: LimitsChange): Promise<boolean> {
  const [row] = await writeOnce<{ changed: boolean }>(deps, {
    text: 'select public.change_limits($1) as changed',
    values: [storableJson(change)],
  });
  return row?.changed === true;
}
