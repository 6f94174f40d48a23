import type { Pool } from 'pg';
import type { Stream } from '../../domain/order.ts';
import type { RepairAnswer } from '../repair-requests.ts';
import { progressOf } from './quarantine-jobs.ts';

// Jobs' rows, as a lane's holder carries them out. Raw: each write is one statement that answers
// requests and deals with their rows.

/** One order that jobs want to be read again, with requests about it. */
export interface OrderOfJobs {
  readonly orderId: string;
  readonly requests: readonly string[];
}

/** Whether a job has not ended. */
export async function hasOpenJobs(pool: Pool): Promise<boolean> {
  const { rows } = await pool.query<{ open: boolean }>(
    'select exists (select from public.quarantine_jobs where ended_at is null) as open',
  );
  return rows[0]?.open === true;
}

/** The accounts with open retries, by their oldest one's age. */
export async function accountsOfJobs(
  pool: Pool,
): Promise<readonly { readonly stream: Stream; readonly accountId: string }[]> {
  const { rows } = await pool.query<{ stream: Stream; account_id: string }>(
    `select stream, account_id from public.repair_requests where job_id is not null and kind = 'retry' and answered_at is null
     group by stream, account_id order by min(id)`,
  );
  return rows.map(({ stream, account_id }) => ({ stream, accountId: account_id }));
}

/**
 * One answer looks at this many requests. An order is read once for all requests about it. Grouping
 * all 20,000 took 380 ms, these some 10 ms.
 */
const requestsAtOnce = 500;

/** One account's next orders, those asked for first before the others. */
export async function ordersOfJobs(
  pool: Pool,
  stream: Stream,
  accountId: string,
  limit: number,
): Promise<OrderOfJobs[]> {
  const { rows } = await pool.query<{ order_id: string; requests: string[] }>(
    `select order_id, array_agg(id::text) as requests from (
       select r.id, q.order_id from public.repair_requests r join public.quarantine q on q.id = r.quarantine_id and q.dealt_at is null
       where r.job_id is not null and r.kind = 'retry' and r.answered_at is null and r.stream = $1 and r.account_id = $2
       order by r.id limit $4
     ) as next group by order_id order by min(id) limit $3`,
    [stream, accountId, limit, requestsAtOnce],
  );
  return rows.map(({ order_id, requests }) => ({ orderId: order_id, requests }));
}

/**
 * Answers open requests, and after `done` deals with their rows, in one commit. A job cancelled in
 * between leaves its rows as they are.
 */
export async function answerJobRows(
  pool: Pool,
  requests: readonly string[],
  { outcome, detail }: RepairAnswer,
): Promise<number> {
  const { rows } = await pool.query<{ answered: string }>(
    `with answered as (
       update public.repair_requests set answered_at = now(), outcome = $2, detail = $3 where id = any($1::bigint[]) and answered_at is null
       returning quarantine_id
     ), dealt as (
       update public.quarantine q set dealt_at = now() from answered a where q.id = a.quarantine_id and $2 = 'done' and q.dealt_at is null
     )
     select count(*) as answered from answered`,
    [requests, outcome, detail],
  );
  return Number(rows[0]?.answered ?? 0);
}

/** Discards at most `limit` rows as jobs ask, oldest requests first. Returns their number. */
export async function discardJobRows(pool: Pool, limit: number): Promise<number> {
  const { rows } = await pool.query<{ discarded: string }>(
    `with picked as (
       select r.id, r.quarantine_id from public.repair_requests r join public.quarantine q on q.id = r.quarantine_id and q.dealt_at is null
       where r.kind = 'discard' and r.answered_at is null order by r.id limit $1 for update of r skip locked
     ), dealt as (
       update public.quarantine q set dealt_at = now() from picked p where q.id = p.quarantine_id and q.dealt_at is null returning q.id
     ), answered as (
       update public.repair_requests r set answered_at = now(), outcome = 'done', detail = 'discarded'
       from picked p join dealt d on d.id = p.quarantine_id where r.id = p.id returning 1
     )
     select count(*) as discarded from answered`,
    [limit],
  );
  return Number(rows[0]?.discarded ?? 0);
}

/**
 * Answers jobs' requests if their row was dealt with in another way, or dropped from a full
 * quarantine. Returns how many there were for each kind.
 */
export async function answerRowsThatAreGone(
  pool: Pool,
): Promise<readonly { readonly kind: string; readonly rows: number }[]> {
  const { rows } = await pool.query<{ kind: string; rows: number }>(
    `with answered as (
       update public.repair_requests r set answered_at = now(), outcome = 'failed', detail = 'it had been dealt with before, or dropped'
       where r.job_id is not null and r.answered_at is null
         and not exists (select from public.quarantine q where q.id = r.quarantine_id and q.dealt_at is null)
       returning r.kind
     )
     select kind, count(*)::int as rows from answered group by kind`,
  );
  return rows;
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
       update public.quarantine_jobs j set ended_at = now()
       where j.ended_at is null and not exists (select from public.repair_requests r where r.job_id = j.job_id and r.answered_at is null)
       returning *
     ), counted as (
       select e.*, json_build_object('jobId', e.job_id, 'action', e.action, 'done', p.done, 'failed', p.failed, 'withdrawn', p.withdrawn) as counts
       from ended e cross join lateral (${progressOf('e.job_id')}) p
     ), line as (
       insert into public.audit_log (at, principal, action, request_id, reason, detail)
       select clock_timestamp(), asked_by, 'quarantine_job_end', request_id, reason, counts from counted
     )
     select counts as ended from counted`,
  );
  return rows.map(({ ended }) => ended);
}
