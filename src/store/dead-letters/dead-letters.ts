import type { Pool } from 'pg';
import { and, asc, count, drizzle, eq, gt, isNull, max, sql } from '../drizzle.ts';
import { deadLetters } from '../schema/orders.ts';

export interface DeadLetterCount {
  readonly stream: string;
  readonly reason: string;
  /** Null: the row did not show its account. */
  readonly accountId: string | null;
  readonly rows: number;
  readonly oldest: Date;
}

/**
 * Rows not dealt with, by stream, reason and account: 20,000 rows at most (`maintainDeadLetters`).
 */
export async function countDeadLetters(pool: Pool): Promise<DeadLetterCount[]> {
  return drizzle(pool)
    .select({
      stream: deadLetters.stream,
      reason: deadLetters.reason,
      accountId: deadLetters.accountId,
      rows: count(),
      oldest: sql<Date>`min(${deadLetters.recordedAt})`.mapWith(deadLetters.recordedAt),
    })
    .from(deadLetters)
    .where(isNull(deadLetters.dealtAt))
    .groupBy(deadLetters.stream, deadLetters.reason, deadLetters.accountId)
    .orderBy(asc(deadLetters.stream), asc(deadLetters.reason), asc(deadLetters.accountId));
}

/** The newest row, 0 if there is none: by the key, however many there are. */
export async function newestDeadLetter(pool: Pool): Promise<bigint> {
  const [row] = await drizzle(pool)
    .select({ id: max(deadLetters.id) })
    .from(deadLetters);
  return row?.id ?? 0n;
}

/**
 * The newest row about the same order, after `id` and not dealt with: the order became a dead
 * letter again.
 */
export async function deadLetteredAgain(
  pool: Pool,
  id: bigint,
  order: { readonly stream: string; readonly orderId: string },
): Promise<bigint | undefined> {
  const [row] = await drizzle(pool)
    .select({ id: max(deadLetters.id) })
    .from(deadLetters)
    .where(
      and(
        eq(deadLetters.stream, order.stream),
        eq(deadLetters.orderId, order.orderId),
        isNull(deadLetters.dealtAt),
        gt(deadLetters.id, id),
      ),
    );
  return row?.id ?? undefined;
}
