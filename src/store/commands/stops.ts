import type { Pool } from 'pg';
import type { Bounds, LimitRow } from '../../domain/limits.ts';
import type { CommitWitness, Witnessed } from '../../runtime/lease.ts';
import { and, asc, drizzle, eq, isNull, sql } from '../drizzle.ts';
import { cancelTimers, limits } from '../schema/stops.ts';
import type { RetryDeps } from '../session/retry-transaction.ts';
import { storableColumn, storableJson, writeOnce } from '../session/write-once.ts';
import { doAct } from './approvals.ts';
import type { CancelTimer, CancelTimersChange, ClearingWord, Halt, LimitsChange } from './stops-journal.ts';
import type { Fence } from './term.ts';

type Deps = RetryDeps & { readonly pool: Pool; readonly witness?: CommitWitness };

interface HaltRow {
  halt_id: string;
  account_id: string | null;
  cause: string;
  reason: string;
  raised_by: string;
  since_ms: string;
  cleared_ms: string | null;
  cleared_by: string | null;
  cleared_reason: string | null;
}

/**
 * Raw, like every call to a database function in this file: `raise_halt` returns the rows
 * `readActiveHalts` reads.
 */
const columns = `halt_id, account_id, cause, reason, raised_by, public.time_to_ms(since) as since_ms, public.time_to_ms(cleared_at) as cleared_ms,
  cleared_by, cleared_reason`;

/** The active halts, oldest first, and the cleared ones among `knownIds`. */
export async function readActiveHalts(pool: Pool, knownIds: readonly string[] = []): Promise<Halt[]> {
  const { rows } = await pool.query<HaltRow>(
    `select ${columns} from public.halts where cleared_at is null or halt_id = any($1) order by since, halt_id`,
    [knownIds],
  );
  return rows.map(toHalt);
}

/** The newest halt with this cause of the service, and of each account, active or cleared. */
export async function readNewestHalts(pool: Pool, cause: string, accountIds: readonly string[]): Promise<Halt[]> {
  const { rows } = await pool.query<HaltRow>(
    `select distinct on (coalesce(account_id, '')) ${columns} from public.halts
     where cause = $1 and (account_id is null or account_id = any($2)) order by coalesce(account_id, ''), number desc`,
    [cause, accountIds],
  );
  return rows.map(toHalt);
}

/** False: the lane is not ours any more. */
export async function holdHalts(deps: Deps, lane: number, epoch: bigint, haltIds: readonly string[]): Promise<boolean> {
  const [row] = await writeOnce<{ held: boolean }>(deps, {
    text: 'select public.hold_halts($1, $2, $3) as held',
    values: [lane, epoch.toString(), haltIds],
  });
  return row?.held === true;
}

/** The live processes that have not said they hold the halt, by name. */
export async function readWithoutHalt(pool: Pool, haltId: string, expireMs: number): Promise<string[]> {
  const { rows } = await pool.query<{ holder: string }>('select public.without_halt($1, $2) as holder', [
    haltId,
    expireMs,
  ]);
  return rows.map(({ holder }) => holder);
}

/**
 * The active halt with this scope and cause: this one, unless there was one already. Without a
 * fence, the shard's holder is not checked.
 */
export async function raiseHalt(deps: Deps, halt: Halt, fence: Fence | undefined): Promise<Halt | 'fenced'> {
  const [row] = await writeOnce<HaltRow>(deps, {
    text: `select ${columns} from public.raise_halt($1, $2, $3, $4, $5, $6, $7, $8)`,
    values: [
      fence?.shard ?? null,
      fence?.epoch.toString() ?? null,
      halt.haltId,
      accountOf(halt.scope),
      halt.cause,
      storableColumn(halt.reason),
      storableColumn(halt.by),
      halt.sinceMs,
    ],
  });
  if (row === undefined) return 'fenced';
  deps.witness?.sawStop({ haltId: row.halt_id });
  return toHalt(row);
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
  if (clearedHaltId !== undefined) deps.witness?.sawStop({ clearedHaltId });
  return cleared.length;
}

function accountOf(scope: Halt['scope']): string | null {
  return scope.kind === 'account' ? scope.accountId : null;
}

function toHalt(row: HaltRow): Halt {
  return {
    haltId: row.halt_id,
    scope: row.account_id === null ? { kind: 'service' } : { kind: 'account', accountId: row.account_id },
    cause: row.cause,
    reason: row.reason,
    by: row.raised_by,
    sinceMs: Number(row.since_ms),
    ...(row.cleared_ms === null ? {} : { clearedAtMs: Number(row.cleared_ms) }),
    ...(row.cleared_by === null ? {} : { clearedBy: row.cleared_by }),
    ...(row.cleared_reason === null ? {} : { clearedReason: row.cleared_reason }),
  };
}

/** When the timers run out, by the database's clock; undefined: fenced. */
export async function setCancelTimers(
  deps: Deps,
  change: CancelTimersChange,
  { shard, epoch }: Fence,
): Promise<number | undefined> {
  const [row] = await writeOnce<{ armed: { firesAtMs: number; changed: Witnessed['cancelTimer'] | null } | null }>(
    deps,
    {
      text: 'select public.set_cancel_timers($1, $2, $3) as armed',
      values: [shard, epoch.toString(), storableJson(change)],
    },
  );
  const changed = row?.armed?.changed;
  if (changed != null) deps.witness?.sawStop({ cancelTimer: changed });
  return row?.armed?.firesAtMs;
}

/** The shard's timers neither disarmed nor fired. */
export async function readArmedCancelTimers(pool: Pool, shard: number): Promise<CancelTimer[]> {
  const { timerId, principal, accountId, firesAt, endedAt } = cancelTimers;
  const leftMs = sql<string>`(extract(epoch from ${firesAt} - clock_timestamp()) * 1000)::text`;
  const rows = await drizzle(pool)
    .select({ timerId, principal, accountId, leftMs })
    .from(cancelTimers)
    .where(and(eq(cancelTimers.shard, shard), isNull(endedAt)))
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
  deps.witness?.sawStop({ limitsChange: { auditId, atMs: change.atMs } });
  return true;
}
