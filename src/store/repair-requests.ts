import type { Pool } from 'pg';
import type { Stream } from '../domain/order.ts';
import { fromRow, type RowOf } from './rows.ts';

export interface RepairRequest {
  /** Several about one order: it is read once for all. */
  readonly ids: readonly string[];
  readonly kind: 'read' | 'backfill' | 'retry';
  readonly stream: Stream;
  readonly accountId: string;
  /** It came by itself, and no job has it. */
  readonly alone: boolean;
  /** For a backfill: milliseconds since the epoch. Left out: from the first order on. */
  readonly sinceMs?: number;
  /** For a retry. Undefined if its row was dealt with in the meantime, or dropped. */
  readonly orderId?: string;
}

export interface RepairAnswer {
  readonly result: 'done' | 'failed' | 'withdrawn';
  readonly detail: string;
}

/** Of one account. A job may have 20,000: together they would be too many for each round. */
const requestsAtOnce = 100;

/**
 * Each account's next open requests, oldest first, those of jobs behind all others. If no process
 * follows an account, its requests stay among them until they are withdrawn. A limit over all
 * accounts would let them block the others.
 */
export async function openRepairs(pool: Pool): Promise<RepairRequest[]> {
  const { rows } = await pool.query<RowOf<RepairRequest>>(
    `select array_agg(n.id::text order by n.id) as ids, n.kind, n.stream, n.account_id as "accountId", n.alone, public.time_to_ms(n.since)::float8 as "sinceMs",
       q.order_id as "orderId" from (
       select id, kind, stream, account_id, since, dead_letter_id, job_id is null as alone,
         row_number() over (partition by stream, account_id order by job_id is not null, id) as place
       from public.repair_requests where answered_at is null
     ) n left join public.dead_letters q on q.id = n.dead_letter_id and q.dealt_at is null
     where n.place <= $1
     group by n.kind, n.stream, n.account_id, n.alone, n.since, q.order_id, case when n.kind <> 'retry' then n.id end
     order by n.alone desc, min(n.id)`,
    [requestsAtOnce],
  );
  return rows.map(fromRow<RepairRequest>);
}

/**
 * Answers open requests, and after `done` deals with their dead letters, in one commit.
 * An earlier answer stays, and so does the row then. Returns how many rows of jobs it answered.
 */
export async function answerRepairs(
  pool: Pool,
  ids: readonly string[],
  { result, detail }: RepairAnswer,
): Promise<number> {
  const { rows } = await pool.query<{ of_jobs: number }>(
    `with answered as (
       update public.repair_requests set answered_at = now(), result = $2, detail = $3 where id = any($1::bigint[]) and answered_at is null
       returning dead_letter_id, job_id
     ), dealt as (
       update public.dead_letters q set dealt_at = now() from answered a where q.id = a.dead_letter_id and $2 = 'done' and q.dealt_at is null
     )
     select count(job_id)::int as of_jobs from answered`,
    [ids, result, detail],
  );
  return rows[0]?.of_jobs ?? 0;
}
