import type { Pool } from 'pg';
import type { Stream } from '../domain/order.ts';

export interface RepairRequest {
  readonly id: bigint;
  readonly kind: 'backfill' | 'retry';
  readonly stream: Stream;
  readonly accountId: string;
  /** For a retry: the row, and the order that it is about. Undefined where the row was dealt with in the meantime. */
  readonly quarantined?: { readonly id: bigint; readonly orderId: string };
}

export interface RepairAnswer {
  readonly outcome: 'done' | 'failed' | 'withdrawn';
  readonly detail: string;
}

export type NewRepairRequest = Pick<RepairRequest, 'kind' | 'stream' | 'accountId'> & { readonly quarantineId?: bigint };

/** Asks the process that follows the account. Rejects when the database can't be reached. */
export async function askRepair(pool: Pool, { kind, stream, accountId, quarantineId }: NewRepairRequest): Promise<bigint> {
  const { rows } = await pool.query<{ id: string }>(
    'insert into public.repair_requests (kind, stream, account_id, quarantine_id) values ($1, $2, $3, $4) returning id',
    [kind, stream, accountId, quarantineId?.toString() ?? null],
  );
  return BigInt(rows[0]?.id ?? 0);
}

/** Open requests, oldest first. Those of accounts that no process follows stay among them until they are withdrawn, so a limit would let them block the others. */
export async function openRepairs(pool: Pool): Promise<RepairRequest[]> {
  const { rows } = await pool.query<{
    id: string;
    kind: RepairRequest['kind'];
    stream: Stream;
    account_id: string;
    quarantine_id: string | null;
    order_id: string | null;
  }>(
    `select r.id, r.kind, r.stream, r.account_id, q.id as quarantine_id, q.order_id from public.repair_requests r
     left join public.quarantine q on q.id = r.quarantine_id and q.dealt_at is null
     where r.answered_at is null order by r.id`,
  );
  return rows.map(({ id, kind, stream, account_id: accountId, quarantine_id: row, order_id: orderId }) => ({
    id: BigInt(id),
    kind,
    stream,
    accountId,
    ...(row !== null && orderId !== null && { quarantined: { id: BigInt(row), orderId } }),
  }));
}

/** False: the request was answered before. The first answer stays. */
export async function answerRepair(pool: Pool, id: bigint, { outcome, detail }: RepairAnswer): Promise<boolean> {
  const { rowCount } = await pool.query(
    'update public.repair_requests set answered_at = now(), outcome = $2, detail = $3 where id = $1 and answered_at is null',
    [id.toString(), outcome, detail],
  );
  return rowCount === 1;
}

/** Undefined: the request is open. */
export async function readAnswer(pool: Pool, id: bigint): Promise<RepairAnswer | undefined> {
  const { rows } = await pool.query<{ outcome: RepairAnswer['outcome']; detail: string | null }>(
    'select outcome, detail from public.repair_requests where id = $1 and answered_at is not null',
    [id.toString()],
  );
  return rows[0] && { outcome: rows[0].outcome, detail: rows[0].detail ?? '' };
}
