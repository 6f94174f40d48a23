import type { Pool } from 'pg';
import type { Bounds, LimitRow } from '../../domain/limits.ts';
import type { Act, CommitCheckpoint } from '../../runtime/lease.ts';
import { and, asc, drizzle, inArray, isNull, sql } from '../drizzle.ts';
import { cancelTimers, limits } from '../schema/halts.ts';
import type { RetryDeps } from '../session/retry-transaction.ts';
import { storableColumn, storableJson, writeOnce } from '../session/write-once.ts';
import { doAct } from './approvals.ts';
import type { CancelTimer, CancelTimersChange, ClearingWord, Halt, LimitsChange } from './halts-journal.ts';
import type { Fence } from './term.ts';

type Deps = RetryDeps & { readonly pool: Pool; readonly checkpoint?: CommitCheckpoint };

/** A halt as the SQL function `halt_json` writes it. */
export interface StoredHalt extends Omit<Halt, 'scope'> {
  readonly accountId?: string;
}

/** The active halts, oldest first, and the cleared ones among `knownIds`. */
export async function readActiveHalts(pool: Pool, knownIds: readonly string[] = []): Promise<Halt[]> {
  const { rows } = await pool.query<{ halt: StoredHalt }>(
    'select public.halt_json(h) as halt from public.halts h where cleared_at is null or halt_id = any($1) order by since, halt_id',
    [knownIds],
  );
  return rows.map(({ halt }) => toHalt(halt));
}

/** The active halt with this scope and cause: this one, unless there was one already. */
export async function raiseHalt(deps: Deps, halt: Halt): Promise<Halt> {
  const { haltId, scope, cause, reason, by, sinceMs } = halt;
  const [row] = await writeOnce<{ halt: StoredHalt }>(deps, {
    text: 'select public.halt_json(public.raise_halt($1, $2, $3, $4, $5, $6)) as halt',
    values: [haltId, accountOf(scope), cause, storableColumn(reason), storableColumn(by), sinceMs],
  });
  const raised = row === undefined ? halt : toHalt(row.halt);
  deps.checkpoint?.saw(['halt', raised.haltId]);
  return raised;
}

/**
 * Clears the active halts of exactly this scope. Resuming the service leaves the accounts' halts.
 */
export async function clearHalts(
  deps: Deps,
  scope: Halt['scope'],
  word: ClearingWord,
  { shard, epoch }: Fence,
): Promise<number | 'kept' | 'fenced' | 'not_waiting'> {
  const call = 'public.clear_halts($1, $2, $3, $4, $5, $6, $7)';
  const values = [
    ...[shard, epoch.toString(), accountOf(scope), storableColumn(word.by), storableColumn(word.reason), word.atMs],
    word.ofSomeAccounts === true,
  ];
  const act = { call, values, isDone: "json_typeof(act.result) = 'array'" };
  const cleared = (await doAct<readonly string[] | 'kept' | null>(deps, word.approval, act)) ?? 'fenced';
  if (typeof cleared === 'string') return cleared;
  const [clearedHaltId] = cleared;
  if (clearedHaltId !== undefined) deps.checkpoint?.saw(['resume', clearedHaltId]);
  return cleared.length;
}

function accountOf(scope: Halt['scope']): string | null {
  return scope.kind === 'account' ? scope.accountId : null;
}

export function toHalt({ accountId, ...halt }: StoredHalt): Halt {
  return { ...halt, scope: accountId === undefined ? { kind: 'service' } : { kind: 'account', accountId } };
}

/** When the timers run out, by the database's clock; undefined: fenced. */
export async function setCancelTimers(
  deps: Deps,
  change: CancelTimersChange,
  { shard, epoch }: Fence,
): Promise<number | undefined> {
  const [row] = await writeOnce<{ armed: { firesAtMs: number; changed: Act | null } | null }>(deps, {
    text: 'select public.set_cancel_timers($1, $2, $3) as armed',
    values: [shard, epoch.toString(), storableJson(change)],
  });
  const changed = row?.armed?.changed;
  if (changed != null) deps.checkpoint?.saw(changed);
  return row?.armed?.firesAtMs;
}

/** The timers of these shards neither disarmed nor fired. */
export async function readArmedCancelTimers(pool: Pool, shards: readonly number[]): Promise<CancelTimer[]> {
  const { timerId, shard, principal, accountId, firesAt, endedAt } = cancelTimers;
  const leftMs = sql<string>`(extract(epoch from ${firesAt} - clock_timestamp()) * 1000)::text`;
  const rows = await drizzle(pool)
    .select({ timerId, shard, principal, accountId, leftMs })
    .from(cancelTimers)
    .where(and(inArray(shard, [...shards]), isNull(endedAt)))
    .orderBy(asc(firesAt), asc(timerId));
  return rows.map((row) => ({ ...row, leftMs: Math.max(0, Number(row.leftMs)) }));
}

/** False: fenced. */
export async function endCancelTimer(deps: Deps, timerId: string, { shard, epoch }: Fence): Promise<boolean> {
  const [row] = await writeOnce<{ held: boolean }>(deps, {
    text: 'select public.end_cancel_timer($1, $2, $3) as held',
    values: [shard, epoch.toString(), timerId],
  });
  return row?.held === true;
}

/** All rows: they are few, since people write them. */
export async function readLimits(pool: Pool): Promise<LimitRow[]> {
  const { principal, accountId } = limits;
  const rows = await drizzle(pool)
    .select()
    .from(limits)
    .orderBy(sql`coalesce(${principal}, '')`, sql`coalesce(${accountId}, '')`);
  return rows.map((row) => ({
    ...(row.principal !== null && { principal: row.principal }),
    ...(row.accountId !== null && { accountId: row.accountId }),
    bounds: row.bounds as Bounds,
    changedBy: row.changedBy,
    reason: row.reason,
    changedAtMs: row.changedAt.getTime(),
  }));
}

export async function changeLimits(
  deps: Deps,
  { approval, ...change }: LimitsChange,
): Promise<boolean | 'not_waiting'> {
  const auditId = await doAct<string | null>(deps, approval, {
    call: 'public.change_limits($1)::text',
    values: [storableJson({ ...change, approvedBy: approval?.by })],
    isDone: 'act.result is not null',
  });
  if (auditId === null || auditId === 'not_waiting') return auditId ?? false;
  deps.checkpoint?.saw(['line', auditId, change.atMs]);
  return true;
}
