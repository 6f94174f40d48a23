import type { Bounds } from '../../domain/limits.ts';
import type { Act } from '../../runtime/lease.ts';
import { and, asc, drizzle, inArray, isNull, sql } from '../drizzle.ts';
import { fromRow, type RowOf } from '../rows.ts';
import { cancelTimers, limits } from '../schema/halts.ts';
import { storableColumn, storableJson, writeOnce } from '../session/write-once.ts';
import { type Approval, type Approving, type Halt, mostWaiting } from './halts-journal.ts';
import type { JournalDeps, JournalRead, JournalWrite } from './journal-calls.ts';
import { intoAuditTrail } from './read-audit-trail.ts';

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

type ApprovalRow = RowOf<Approval>;

/**
 * Raw: each write is one statement with its audit line, and the list reads the columns it returns.
 */
const approvalColumns = `approval_id as "approvalId", action, account_id as "accountId", requested_by as "by", reason, request_id as "requestId",
  public.time_to_ms(requested_at)::float8 as "atMs", public.time_to_ms(expires_at)::float8 as "expiresAtMs"`;

/**
 * SQL over a request: it is not approved, not expired, and its principal may still ask for it.
 * Whether it has expired is the database's word: a process whose clock is off neither approves what
 * has expired nor refuses what has not. Tokens of the database can be ended, and then no act is
 * done in their principal's name. Of other principals the database knows nothing.
 */
const isWaiting = `approved_at is null and expires_at > clock_timestamp() and (not exists (select from public.principal_tokens t where t.principal = requested_by)
  or exists (select from public.principal_tokens t where t.principal = requested_by and (t.expires_at is null or t.expires_at > clock_timestamp())
    and 'ops:write' = any (t.scopes) and (t.accounts is null or account_id = any (t.accounts))))`;

/** Writes the request, with its audit line, unless an equal one waits (`request_approval`). */
export const requestApproval: JournalWrite<'requestApproval'> = async (deps, approval) => {
  const { by, reason, ...rest } = approval;
  const [row] = await writeOnce<ApprovalRow>(deps, {
    text: `select ${approvalColumns} from public.request_approval($1, $2)`,
    values: [storableJson({ ...rest, by: storableColumn(by), reason: storableColumn(reason) }), mostWaiting],
  });
  return row && fromRow<Approval>(row);
};

/** Requests not approved, not expired, and of principals that may still ask; oldest first. */
export const readApprovals: JournalRead<'approvals'> = async (pool, accounts) => {
  const { rows } = await pool.query<ApprovalRow>(
    `select ${approvalColumns} from public.approvals
    where ${isWaiting} and ($1::text[] is null or account_id = any($1))
    order by requested_at, approval_id limit 1000`,
    [accounts ?? null],
  );
  return rows.map(fromRow<Approval>);
};

export const findApproval: JournalRead<'findApproval'> = async (pool, approvalId) => {
  const { rows } = await pool.query<ApprovalRow>(
    `select ${approvalColumns} from public.approvals where approval_id = $1 and ${isWaiting}`,
    [approvalId],
  );
  return rows[0] && fromRow<Approval>(rows[0]);
};

/** One call of a function of the database, and in which case it has done its act. */
interface DatabaseCall {
  /** With its parameters as $1, $2 and so on. */
  readonly call: string;
  readonly values: readonly unknown[];
  /** SQL over the call's `result`. */
  readonly isDone: string;
}

/**
 * An act, and with `approval` the end of its request with the audit line, in one transaction: the
 * approval is spent exactly if the act was done. The request's row is locked first, so two
 * principals who approve at once do it once. Not "take, do, and give back": a crash between them
 * would leave an approval without its act. `not_waiting`: no request with this id waits for this
 * principal.
 */
export async function doAct<Result>(
  deps: JournalDeps,
  approval: Approving | undefined,
  { call, values, isDone }: DatabaseCall,
): Promise<Result | 'not_waiting'> {
  if (approval === undefined) {
    const [row] = await writeOnce<{ result: Result }>(deps, { text: `select ${call} as result`, values: [...values] });
    return (row as { result: Result }).result;
  }
  const { approvalId, by, reason, requestId } = approval;
  const [id, principal, why, request] = [1, 2, 3, 4].map((number) => `$${values.length + number}`);
  const [row] = await writeOnce<{ result: Result }>(deps, {
    text: `with waiting as materialized (
        select approval_id, least(clock_timestamp(), expires_at - interval '1 us') as at from public.approvals
        where approval_id = ${id} and requested_by <> ${principal} and ${isWaiting} for update
      ), act as materialized (select ${call} as result, at from waiting), taken as (
        update public.approvals set approved_by = ${principal}, approved_reason = ${why}, approved_at = act.at
        from act where approval_id = ${id} and ${isDone} returning approvals.*
      ), line as (
        ${intoAuditTrail}
        select approved_at, approved_by, 'approve', account_id, ${request}, approved_reason,
          json_build_object('approvalId', approval_id, 'action', action, 'requestedBy', requested_by) from taken)
      select result from act`,
    values: [...values, approvalId, storableColumn(by), storableColumn(reason), requestId],
  });
  return row === undefined ? 'not_waiting' : row.result;
}
