import type { Pool } from 'pg';
import { inScope, scopeParameter } from '../account-scope.ts';
import type { AccountScope } from '../orders/order-reads.ts';
import type { RetryDeps } from '../session/retry-transaction.ts';
import { storableColumn, storableJson, writeOnce } from '../session/write-once.ts';
import {
  type JobSize,
  mostOpenJobs,
  type NewQuarantineJob,
  type QuarantineAction,
  type QuarantineFilter,
  type QuarantineJob,
  type QuarantineWord,
} from './quarantine-access.ts';

interface Condition {
  readonly text: string;
  /** Its parameters, from $1 on; more may be added. */
  readonly values: unknown[];
}

/**
 * SQL: quarantine rows `q` not dealt with, in the scope, and matching. The scope is parameter 1.
 */
export function rowsThatMatch(scope: AccountScope, { stream, accountId, reason, rowIds }: QuarantineFilter): Condition {
  const values: unknown[] = [scopeParameter(scope)];
  const where = ['q.dealt_at is null', inScope('q.account_id', 1)];
  if (stream !== undefined) where.push(`q.stream = $${values.push(stream)}`);
  if (accountId !== undefined) where.push(`q.account_id = $${values.push(accountId)}`);
  if (reason !== undefined) where.push(`q.reason = $${values.push(storableColumn(reason))}`);
  if (rowIds !== undefined) where.push(`q.id = any($${values.push(rowIds)}::bigint[])`);
  return { text: where.join(' and '), values };
}

/**
 * The same without the rows already asked for. So a request repeated after a lost answer makes no
 * second job from them.
 */
function rowsOfJob(scope: AccountScope, action: QuarantineAction, filter: QuarantineFilter): Condition {
  const { text, values } = rowsThatMatch(scope, filter);
  const place = `$${values.push(action)}`;
  const asked = `select from public.repair_requests r where r.quarantine_id = q.id and r.kind = ${place}::text and r.answered_at is null`;
  return { text: `${text} and not exists (${asked})`, values };
}

const nameless = '(q.account_id is null or q.order_id is null)';
const namelessDetail = 'it names no order: check it and discard it, or read its account whole';

/** The rows a job would have now. Rejects when the database can't be reached. */
export async function measureJob(
  pool: Pool,
  scope: AccountScope,
  action: QuarantineAction,
  filter: QuarantineFilter,
): Promise<JobSize> {
  const { text, values } = rowsOfJob(scope, action, filter);
  const { rows } = await pool.query<{ total: string; nameless: string }>(
    `select count(*) as total, count(*) filter (where ${nameless}) as nameless from public.quarantine q where ${text}`,
    values,
  );
  return { total: Number(rows[0]?.total ?? 0), nameless: action === 'retry' ? Number(rows[0]?.nameless ?? 0) : 0 };
}

/**
 * One statement: the job, a request for each row, and the audit line. So its rows are decided at
 * once, and rows that come later are not in it. A row without an order cannot be read again: in a
 * retry it has failed from the start.
 */
export async function openJob(
  deps: RetryDeps & { readonly pool: Pool },
  scope: AccountScope,
  { jobId, action, filter, by, reason, requestId }: NewQuarantineJob,
): Promise<boolean> {
  const { text, values } = rowsOfJob(scope, action, filter);
  const add = (value: unknown) => `$${values.push(value)}`;
  const place = `${add(action)}::text`;
  const fails = `${place} = 'retry' and ${nameless}`;
  const { accountId } = filter;
  const accounts = accountId === undefined ? scopeParameter(scope) : [accountId];
  const rows = await writeOnce<{ job_id: string }>(deps, {
    text: `with job as (
        insert into public.quarantine_jobs (job_id, action, filter, accounts, reason, asked_by, request_id)
        select ${add(jobId)}::uuid, ${place}, ${add(storableJson(filter))}::json, ${add(accounts)}::text[], ${add(storableColumn(reason))}, ${add(storableColumn(by))}, ${add(requestId)}
        where (select count(*) from public.quarantine_jobs where ended_at is null) < ${add(mostOpenJobs)}
        returning *
      ), items as (
        insert into public.repair_requests (kind, stream, account_id, quarantine_id, job_id, answered_at, outcome, detail)
        select ${place}, q.stream, q.account_id, q.id, job.job_id, case when ${fails} then now() end, case when ${fails} then 'failed' end,
          case when ${fails} then ${add(namelessDetail)} end
        from job cross join public.quarantine q where ${text} order by q.id
        returning 1
      ), line as (
        insert into public.audit_log (at, principal, action, account_id, request_id, reason, detail)
        select clock_timestamp(), asked_by, 'quarantine_job', ${add(accountId ?? null)}, request_id, reason,
          json_build_object('jobId', job_id, 'action', action, 'filter', filter, 'rows', (select count(*) from items)) from job
      )
      select job_id from job`,
    values,
  });
  return rows.length > 0;
}

interface JobRow {
  readonly job_id: string;
  readonly action: QuarantineAction;
  readonly filter: QuarantineFilter;
  readonly reason: string;
  readonly asked_by: string;
  readonly asked_at: Date;
  readonly ended_at: Date | null;
  readonly cancelled_by: string | null;
  readonly total: string;
  readonly done: string;
  readonly failed: string;
  readonly withdrawn: string;
  readonly failures: QuarantineJob['failures'];
}

/** SQL: a job is in the scope (parameter 1) when each of its accounts is. */
const jobInScope = '($1::text[] is null or j.accounts <@ $1::text[])';

/**
 * The scope's jobs, newest first, or the named one. Progress is counted from the answers to their
 * rows, by an index.
 */
export async function readJobs(
  pool: Pool,
  scope: AccountScope,
  { jobId, limit }: { readonly jobId?: string; readonly limit: number },
): Promise<QuarantineJob[]> {
  const { rows } = await pool.query<JobRow>(
    `select j.*, p.*, f.failures from (
       select * from public.quarantine_jobs j where ${jobInScope} and ($2::uuid is null or j.job_id = $2) order by j.asked_at desc, j.job_id limit $3
     ) j cross join lateral (${progressOf('j.job_id')}) p cross join lateral (
       select coalesce(json_agg(json_build_object('detail', f.detail, 'rows', f.rows)), '[]') as failures from (
         select r.detail, count(*)::int as rows from public.repair_requests r where r.job_id = j.job_id and r.outcome = 'failed'
         group by r.detail order by 2 desc, 1 limit 10) f
     ) f order by j.asked_at desc, j.job_id`,
    [scopeParameter(scope), jobId ?? null, limit],
  );
  return rows.map(toJob);
}

/** SQL: how many rows the job has, and how many have each answer. */
export function progressOf(jobId: string): string {
  return `select count(*) as total, count(*) filter (where r.outcome = 'done') as done, count(*) filter (where r.outcome = 'failed') as failed,
    count(*) filter (where r.outcome = 'withdrawn') as withdrawn from public.repair_requests r where r.job_id = ${jobId}`;
}

function toJob(row: JobRow): QuarantineJob {
  const { job_id, asked_by, asked_at, ended_at, cancelled_by, total, done, failed, withdrawn } = row;
  const { action, filter, reason, failures } = row;
  return {
    jobId: job_id,
    action,
    filter,
    reason,
    by: asked_by,
    askedAt: asked_at,
    ...(ended_at !== null && { endedAt: ended_at }),
    ...(cancelled_by !== null && { cancelledBy: cancelled_by }),
    total: Number(total),
    done: Number(done),
    failed: Number(failed),
    withdrawn: Number(withdrawn),
    failures,
  };
}

/**
 * Ends the job, and withdraws its open rows. An order being read at this moment stays in
 * quarantine.
 */
export async function cancelJob(
  deps: RetryDeps & { readonly pool: Pool },
  scope: AccountScope,
  jobId: string,
  { by, reason, requestId }: QuarantineWord,
): Promise<void> {
  await writeOnce(deps, {
    text: `with job as (
        update public.quarantine_jobs j set ended_at = now(), cancelled_by = $3 where j.job_id = $2 and j.ended_at is null and ${jobInScope} returning *
      ), items as (
        update public.repair_requests r set answered_at = now(), outcome = 'withdrawn', detail = 'the job was cancelled'
        from job where r.job_id = job.job_id and r.answered_at is null returning 1
      )
      insert into public.audit_log (at, principal, action, request_id, reason, detail)
      select clock_timestamp(), $3, 'quarantine_job_cancel', $4, $5, json_build_object('jobId', job_id, 'action', action, 'withdrawn', (select count(*) from items)) from job`,
    values: [scopeParameter(scope), jobId, storableColumn(by), requestId, storableColumn(reason)],
  });
}
