import type { Pool } from 'pg';
import type { Stream } from '../domain/order.ts';
import { and, asc, drizzle, eq, isNull, sql } from './drizzle.ts';
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
