import { fromRow, type RowOf } from '../from-row.ts';
import { storableColumn, storableJson, writeOnce } from '../session/write-once.ts';
import { type Approval, type Approving, mostWaiting } from './halts-journal.ts';
import type { JournalDeps, JournalRead, JournalWrite } from './journal-calls.ts';

type Row = RowOf<Approval>;

/**
 * Raw: each write is one statement with its audit line, and the list reads the columns it returns.
 */
const columns = `approval_id as "approvalId", action, account_id as "accountId", requested_by as "by", reason, request_id as "requestId",
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
  const [row] = await writeOnce<Row>(deps, {
    text: `select ${columns} from public.request_approval($1, $2)`,
    values: [storableJson({ ...rest, by: storableColumn(by), reason: storableColumn(reason) }), mostWaiting],
  });
  return row && fromRow<Approval>(row);
};

/** Requests not approved, not expired, and of principals that may still ask; oldest first. */
export const readApprovals: JournalRead<'approvals'> = async (pool, accounts) => {
  const { rows } = await pool.query<Row>(
    `select ${columns} from public.approvals
    where ${isWaiting} and ($1::text[] is null or account_id = any($1))
    order by requested_at, approval_id limit 1000`,
    [accounts ?? null],
  );
  return rows.map(fromRow<Approval>);
};

export const findApproval: JournalRead<'findApproval'> = async (pool, approvalId) => {
  const { rows } = await pool.query<Row>(
    `select ${columns} from public.approvals where approval_id = $1 and ${isWaiting}`,
    [approvalId],
  );
  return rows[0] && fromRow<Approval>(rows[0]);
};

/** One call of a function of the database, and in which case it has done its act. */
interface Act {
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
  { call, values, isDone }: Act,
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
        insert into public.audit_log (at, principal, action, account_id, request_id, reason, detail)
        select approved_at, approved_by, 'approve', account_id, ${request}, approved_reason,
          json_build_object('approvalId', approval_id, 'action', action, 'requestedBy', requested_by) from taken)
      select result from act`,
    values: [...values, approvalId, storableColumn(by), storableColumn(reason), requestId],
  });
  return row === undefined ? 'not_waiting' : row.result;
}
