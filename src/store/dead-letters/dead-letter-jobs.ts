import type { Pool } from 'pg';
import { inScope, scopeParameter } from '../account-scope.ts';
import { intoAuditTrail, type PersonsWord } from '../commands/read-audit-trail.ts';
import type { AccountScope } from '../orders/order-reads.ts';
import { fromRow, type RowOf } from '../rows.ts';
import type { PoolDeps } from '../session/retry-transaction.ts';
import { storableColumn, storableJson, writeOnce } from '../session/write-once.ts';
import {
  type DeadLetterAction,
  type DeadLetterFilter,
  type DeadLetterJob,
  type JobSize,
  mostOpenJobs,
  type NewDeadLetterJob,
} from './dead-letter-access.ts';

interface Condition {
  readonly text: string;
  /** Its parameters, from $1 on; more may be added. */
  readonly values: unknown[];
}

/**
 * SQL: dead letters `q` not dealt with, in the scope, and matching. The scope is parameter 1.
 */
export function rowsThatMatch(scope: AccountScope, { stream, accountId, reason, rowIds }: DeadLetterFilter): Condition {
  const values: unknown[] = [scopeParameter(scope)];
  const where = ['q.dealt_at is null', inScope('q.account_id', 1)];
  if (stream !== undefined) where.push(`q.stream = $${values.push(stream)}`);
  if (accountId !== undefined) where.push(`q.account_id = $${values.push(accountId)}`);
  if (reason !== undefined) where.push(`q.reason = $${values.push(storableColumn(reason))}`);
  if (rowIds !== undefined) where.push(`q.id = any($${values.push(rowIds)}::bigint[])`);
  return { text: where.join(' and '), values };
}

/**
 * The most rows of a job, the oldest: as many as the dead letters may have open, but for those of
 * the last minute (`maintainDeadLetters`). So one statement ends soon: 20,000 rows took 0.7 s on
 * two cores that were busy otherwise.
 */
const mostRows = 20_000;

/**
 * SQL: the rows of a job, as `q`. A retry has none for which a retry is open already. So a request
 * repeated after a lost answer makes no second job from them.
 */
function rowsOfJob(scope: AccountScope, action: DeadLetterAction, filter: DeadLetterFilter): Condition {
  const { text, values } = rowsThatMatch(scope, filter);
  const asked = 'select from public.repair_requests r where r.dead_letter_id = q.id and r.answered_at is null';
  const open = action === 'retry' ? ` and not exists (${asked})` : '';
  return {
    text: `select q.id, q.stream, q.account_id, q.order_id from public.dead_letters q where ${text}${open} order by q.id limit ${mostRows}`,
    values,
  };
}

const nameless = '(q.account_id is null or q.order_id is null)';
const namelessDetail = 'it names no order: check it and discard it, or read its account whole';

/** The rows a job would have now. Rejects when the database can't be reached. */
export async function measureJob(
  pool: Pool,
  scope: AccountScope,
  action: DeadLetterAction,
  filter: DeadLetterFilter,
): Promise<JobSize> {
  const { text, values } = rowsOfJob(scope, action, filter);
  const { rows } = await pool.query<{ total: string; nameless: string }>(
    `select count(*) as total, count(*) filter (where ${nameless}) as nameless from (${text}) q`,
    values,
  );
  return { total: Number(rows[0]?.total ?? 0), nameless: action === 'retry' ? Number(rows[0]?.nameless ?? 0) : 0 };
}

/**
 * One statement with the audit lines. A retry is the job with a request for each row: its rows are
 * decided at once, and rows that come later are not in it. A row without an order cannot be read
 * again, and has failed from the start. A discard is over with its statement.
 */
export async function openJob(
  deps: PoolDeps,
  scope: AccountScope,
  { jobId, action, filter, by, reason, requestId }: NewDeadLetterJob,
): Promise<boolean> {
  const { text, values } = rowsOfJob(scope, action, filter);
  const add = (value: unknown) => `$${values.push(value)}`;
  const { accountId } = filter;
  const accounts = accountId === undefined ? scopeParameter(scope) : [accountId];
  const job = (more: string, of: string) =>
    `insert into public.dead_letter_jobs (job_id, action, filter, accounts, reason, asked_by, request_id${more})
     select ${add(jobId)}::uuid, ${add(action)}::text, ${add(storableJson(filter))}::json, ${add(accounts)}::text[], ${add(storableColumn(reason))}, ${add(storableColumn(by))}, ${add(requestId)}${of}`;
  const lines = (from: string) =>
    `${intoAuditTrail}
     select clock_timestamp(), asked_by, 'dead_letter_job', ${add(accountId ?? null)}::text, request_id, reason,
       json_build_object('jobId', job_id, 'action', action, 'filter', filter, 'rows', (select count(*) from ${from})) from job`;
  const statement =
    action === 'discard'
      ? `with dealt as (
           update public.dead_letters q set dealt_at = now() from (${text} for update) as picked where q.id = picked.id returning q.id
         ), job as (
           ${job(', ended_at, discarded', ', now(), (select count(*) from dealt)')} returning *
         ), lines as (
           ${lines('dealt')} union all ${endLine('job', 'discarded', '0', '0')}
         )`
      : `with job as (
           ${job('', '')} where (select count(*) from public.dead_letter_jobs where ended_at is null) < ${add(mostOpenJobs)} returning *
         ), items as (
           insert into public.repair_requests (kind, stream, account_id, dead_letter_id, job_id, answered_at, result, detail)
           select 'retry', q.stream, q.account_id, q.id, job.job_id, case when ${nameless} then now() end, case when ${nameless} then 'failed' end,
             case when ${nameless} then ${add(namelessDetail)} end
           from job cross join (${text}) q returning 1
         ), lines as (${lines('items')})`;
  return (await writeOnce(deps, { text: `${statement} select job_id from job`, values })).length > 0;
}

/** SQL: the audit trail's lines for ended jobs, from a table. */
function endLine(jobs: string, done: string, failed: string, withdrawn: string): string {
  return `select clock_timestamp(), asked_by, 'dead_letter_job_end', null, request_id, reason,
    json_build_object('jobId', job_id, 'action', action, 'done', ${done}, 'failed', ${failed}, 'withdrawn', ${withdrawn}) from ${jobs}`;
}

interface EndedJob {
  readonly jobId: string;
  readonly action: string;
  readonly done: number;
  readonly failed: number;
  readonly withdrawn: number;
}

/** Ends the jobs without an open row, each with its audit line. */
export async function endJobs(pool: Pool): Promise<readonly EndedJob[]> {
  const { rows } = await pool.query<{ ended: EndedJob }>(
    `with ended as (
       update public.dead_letter_jobs j set ended_at = now()
       where j.ended_at is null and not exists (select from public.repair_requests r where r.job_id = j.job_id and r.answered_at is null)
       returning *
     ), line as (
       ${intoAuditTrail}
       ${endLine(`ended j cross join lateral (${progress}) p`, 'p.done', 'p.failed', 'p.withdrawn')} returning detail
     )
     select detail as ended from line`,
  );
  return rows.map(({ ended }) => ended);
}

/** SQL: how many rows job `j` has, and how many have each answer. */
const progress = `select count(*)::int + j.discarded as total, count(*) filter (where r.result = 'done')::int + j.discarded as done,
  count(*) filter (where r.result = 'failed')::int as failed, count(*) filter (where r.result = 'withdrawn')::int as withdrawn
  from public.repair_requests r where r.job_id = j.job_id`;

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
): Promise<DeadLetterJob[]> {
  const { rows } = await pool.query<RowOf<DeadLetterJob>>(
    `select j.job_id as "jobId", j.action, j.filter, j.reason, j.asked_by as "by", j.asked_at as "askedAt", j.ended_at as "endedAt",
       j.cancelled_by as "cancelledBy", p.*, f.failures from (
       select * from public.dead_letter_jobs j where ${jobInScope} and ($2::uuid is null or j.job_id = $2) order by j.asked_at desc, j.job_id limit $3
     ) j cross join lateral (${progress}) p cross join lateral (
       select coalesce(json_agg(json_build_object('detail', f.detail, 'rows', f.rows)), '[]') as failures from (
         select r.detail, count(*)::int as rows from public.repair_requests r where r.job_id = j.job_id and r.result = 'failed'
         group by r.detail order by 2 desc, 1 limit 10) f
     ) f order by j.asked_at desc, j.job_id`,
    [scopeParameter(scope), jobId ?? null, limit],
  );
  return rows.map(fromRow<DeadLetterJob>);
}

/**
 * Ends the job, and withdraws its open rows. An order being read at this moment stays in
 * dead letters.
 */
export async function cancelJob(
  deps: PoolDeps,
  scope: AccountScope,
  jobId: string,
  { by, reason, requestId }: PersonsWord,
): Promise<void> {
  await writeOnce(deps, {
    text: `with job as (
        update public.dead_letter_jobs j set ended_at = now(), cancelled_by = $3 where j.job_id = $2 and j.ended_at is null and ${jobInScope} returning *
      ), items as (
        update public.repair_requests r set answered_at = now(), result = 'withdrawn', detail = 'the job was cancelled'
        from job where r.job_id = job.job_id and r.answered_at is null returning 1
      )
      ${intoAuditTrail}
      select clock_timestamp(), $3, 'dead_letter_job_cancel', null, $4, $5, json_build_object('jobId', job_id, 'action', action, 'withdrawn', (select count(*) from items)) from job`,
    values: [scopeParameter(scope), jobId, storableColumn(by), requestId, storableColumn(reason)],
  });
}
