import type { Pool } from 'pg';
import { and, asc, count, drizzle, eq, gt, isNull, max, sql } from '../drizzle.ts';
import { quarantine } from '../schema/orders.ts';

export interface QuarantineCount {
  readonly stream: string;
  readonly reason: string;
  /** Null: the row did not show its account. */
  readonly accountId: string | null;
  readonly rows: number;
  readonly oldest: Date;
}

/**
 * Rows not dealt with, by stream, reason and account: 20,000 rows at most (`maintainQuarantine`).
 */
export async function countQuarantined(pool: Pool): Promise<QuarantineCount[]> {
  return drizzle(pool)
    .select({
      stream: quarantine.stream,
      reason: quarantine.reason,
      accountId: quarantine.accountId,
      rows: count(),
      oldest: sql<Date>`min(${quarantine.recordedAt})`.mapWith(quarantine.recordedAt),
    })
    .from(quarantine)
    .where(isNull(quarantine.dealtAt))
    .groupBy(quarantine.stream, quarantine.reason, quarantine.accountId)
    .orderBy(asc(quarantine.stream), asc(quarantine.reason), asc(quarantine.accountId));
}

/** The newest row, 0 if there is none: by the key, however many there are. */
export async function newestQuarantined(pool: Pool): Promise<bigint> {
  const [row] = await drizzle(pool)
    .select({ id: max(quarantine.id) })
    .from(quarantine);
  return row?.id ?? 0n;
}

/**
 * The newest row about the same order, after `id` and not dealt with: the order was quarantined
 * again.
 */
export async function quarantinedAgain(
  pool: Pool,
  id: bigint,
  order: { readonly stream: string; readonly orderId: string },
): Promise<bigint | undefined> {
  const [row] = await drizzle(pool)
    .select({ id: max(quarantine.id) })
    .from(quarantine)
    .where(
      and(
        eq(quarantine.stream, order.stream),
        eq(quarantine.orderId, order.orderId),
        isNull(quarantine.dealtAt),
        gt(quarantine.id, id),
      ),
    );
  return row?.id ?? undefined;
}
