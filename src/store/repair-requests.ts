import type { Pool } from 'pg';
import type { Stream } from '../domain/order.ts';
import { and, asc, drizzle, eq, isNotNull, isNull, sql } from './drizzle.ts';
import { repairRequests } from './schema/accounts.ts';
import { quarantine } from './schema/orders.ts';

export interface RepairRequest {
  readonly id: bigint;
  readonly kind: 'read' | 'backfill' | 'retry';
  readonly stream: Stream;
  readonly accountId: string;
  /** For a backfill: milliseconds since the epoch. Left out: from the first order on. */
  readonly sinceMs?: number;
  /** For a retry: the row, and its order. Undefined if the row was dealt with in the meantime. */
  readonly quarantined?: { readonly id: bigint; readonly orderId: string };
}

export interface RepairAnswer {
  readonly outcome: 'done' | 'failed' | 'withdrawn';
  readonly detail: string;
}

type NewRepairRequest = Pick<RepairRequest, 'kind' | 'stream' | 'accountId'> & {
  readonly quarantineId?: bigint;
};

/** Asks the process that follows the account. Rejects when the database can't be reached. */
export async function askRepair(
  pool: Pool,
  { kind, stream, accountId, quarantineId }: NewRepairRequest,
): Promise<bigint> {
  // Raw: the service's role may write these columns alone. The query builder names every column in
  // an insert.
  const { rows } = await pool.query<{ id: string }>(
    'insert into public.repair_requests (kind, stream, account_id, quarantine_id) values ($1, $2, $3, $4) returning id',
    [kind, stream, accountId, quarantineId?.toString() ?? null],
  );
  return BigInt(rows[0]?.id ?? 0);
}

/**
 * Open requests outside jobs, oldest first. If no process follows an account, its requests stay
 * among them until they are withdrawn. A limit would let them block the others.
 */
export async function openRepairs(pool: Pool): Promise<RepairRequest[]> {
  const { id, kind, stream, accountId, since } = repairRequests;
  const rows = await drizzle(pool)
    .select({ id, kind, stream, accountId, since, quarantineId: quarantine.id, orderId: quarantine.orderId })
    .from(repairRequests)
    .leftJoin(quarantine, and(eq(quarantine.id, repairRequests.quarantineId), isNull(quarantine.dealtAt)))
    .where(and(isNull(repairRequests.answeredAt), isNull(repairRequests.jobId)))
    .orderBy(asc(repairRequests.id));
  return rows.map(({ quarantineId, orderId, since: from, ...row }) => ({
    ...row,
    kind: row.kind as RepairRequest['kind'],
    stream: row.stream as Stream,
    // Not null: only a job's rows may name no account.
    accountId: row.accountId as string,
    ...(from !== null && { sinceMs: from.getTime() }),
    ...(quarantineId !== null && orderId !== null && { quarantined: { id: quarantineId, orderId } }),
  }));
}

/** False: the request was answered before. The first answer stays. */
export async function answerRepair(pool: Pool, id: bigint, { outcome, detail }: RepairAnswer): Promise<boolean> {
  const { rowCount } = await drizzle(pool)
    .update(repairRequests)
    .set({ answeredAt: sql`now()`, outcome, detail })
    .where(and(eq(repairRequests.id, id), isNull(repairRequests.answeredAt)));
  return rowCount === 1;
}

/** Undefined: the request is open. */
export async function readAnswer(pool: Pool, id: bigint): Promise<RepairAnswer | undefined> {
  const [row] = await drizzle(pool)
    .select({ outcome: repairRequests.outcome, detail: repairRequests.detail })
    .from(repairRequests)
    .where(and(eq(repairRequests.id, id), isNotNull(repairRequests.answeredAt)));
  return row && { outcome: row.outcome as RepairAnswer['outcome'], detail: row.detail ?? '' };
}
