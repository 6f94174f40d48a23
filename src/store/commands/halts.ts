import type { Bounds } from '../../domain/limits.ts';
import type { Act } from '../../runtime/lease.ts';
import { and, asc, drizzle, inArray, isNull, sql } from '../drizzle.ts';
import { cancelTimers, limits } from '../schema/halts.ts';
import { storableColumn, storableJson, writeOnce } from '../session/write-once.ts';
import { doAct } from './approvals.ts';
import type { Halt } from './halts-journal.ts';
import type { JournalRead, JournalWrite } from './journal-calls.ts';

/** A halt as the SQL function `halt_json` writes it. */
export interface StoredHalt extends Omit<Halt, 'scope'> {
  readonly accountId?: string;
}

/** The active halts, oldest first, and the cleared ones among `knownIds`. */
export const readActiveHalts: JournalRead<'activeHalts'> = async (pool, knownIds = []) => {
  const { rows } = await pool.query<{ halt: StoredHalt }>(
    'select public.halt_json(h) as halt from public.halts h where cleared_at is null or halt_id = any($1) order by since, halt_id',
    [knownIds],
  );
  return rows.map(({ halt }) => toHalt(halt));
};

/** The active halt with this scope and cause: this one, unless there was one already. */
export const raiseHalt: JournalWrite<'raiseHalt'> = async (deps, halt) => {
  const { haltId, scope, cause, reason, by, sinceMs } = halt;
  const [row] = await writeOnce<{ halt: StoredHalt }>(deps, {
    text: 'select public.halt_json(public.raise_halt($1, $2, $3, $4, $5, $6)) as halt',
    values: [haltId, accountOf(scope), cause, storableColumn(reason), storableColumn(by), sinceMs],
  });
  const raised = row === undefined ? halt : toHalt(row.halt);
  deps.checkpoint?.saw(['halt', raised.haltId]);
  return raised;
};

/**
 * Clears the active halts of exactly this scope. Resuming the service leaves the accounts' halts.
 */
export const clearHalts: JournalWrite<'clearHalts'> = async (deps, scope, word, { shard, epoch }) => {
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
};

function accountOf(scope: Halt['scope']): string | null {
  return scope.kind === 'account' ? scope.accountId : null;
}

export function toHalt({ accountId, ...halt }: StoredHalt): Halt {
  return { ...halt, scope: accountId === undefined ? { kind: 'service' } : { kind: 'account', accountId } };
}

/** When the timers run out, by the database's clock; undefined: fenced. */
export const setCancelTimers: JournalWrite<'setCancelTimers'> = async (deps, change, { shard, epoch }) => {
  const [row] = await writeOnce<{ armed: { firesAtMs: number; changed: Act | null } | null }>(deps, {
    text: 'select public.set_cancel_timers($1, $2, $3) as armed',
    values: [shard, epoch.toString(), storableJson(change)],
  });
  const changed = row?.armed?.changed;
  if (changed != null) deps.checkpoint?.saw(changed);
  return row?.armed?.firesAtMs;
};

/** The timers of these shards neither disarmed nor fired. */
export const readArmedCancelTimers: JournalRead<'armedCancelTimers'> = async (pool, shards) => {
  const { timerId, shard, principal, accountId, firesAt, endedAt } = cancelTimers;
  const leftMs = sql<string>`(extract(epoch from ${firesAt} - clock_timestamp()) * 1000)::text`;
  const rows = await drizzle(pool)
    .select({ timerId, shard, principal, accountId, leftMs })
    .from(cancelTimers)
    .where(and(inArray(shard, [...shards]), isNull(endedAt)))
    .orderBy(asc(firesAt), asc(timerId));
  return rows.map((row) => ({ ...row, leftMs: Math.max(0, Number(row.leftMs)) }));
};

/** False: fenced. */
export const endCancelTimer: JournalWrite<'endCancelTimer'> = async (deps, timerId, { shard, epoch }) => {
  const [row] = await writeOnce<{ held: boolean }>(deps, {
    text: 'select public.end_cancel_timer($1, $2, $3) as held',
    values: [shard, epoch.toString(), timerId],
  });
  return row?.held === true;
};

/** All rows: they are few, since people write them. */
export const readLimits: JournalRead<'limits'> = async (pool) => {
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
};

export const changeLimits: JournalWrite<'changeLimits'> = async (deps, { approval, ...change }) => {
  const auditId = await doAct<string | null>(deps, approval, {
    call: 'public.change_limits($1)::text',
    values: [storableJson({ ...change, approvedBy: approval?.by })],
    isDone: 'act.result is not null',
  });
  if (auditId === null || auditId === 'not_waiting') return auditId ?? false;
  deps.checkpoint?.saw(['line', auditId, change.atMs]);
  return true;
};
