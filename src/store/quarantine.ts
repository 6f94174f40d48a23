import { and, asc, count, eq, gt, isNull, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import type { Pool } from 'pg';
import { quarantine } from './schema/quarantine.ts';

export type QuarantinedRow = typeof quarantine.$inferSelect;

export interface QuarantineCount {
  readonly stream: string;
  readonly reason: string;
  readonly rows: number;
}

/** Rows that nobody has dealt with, by stream and reason: from the index alone. For the gauge. */
export async function countQuarantined(pool: Pool): Promise<QuarantineCount[]> {
  return drizzle(pool)
    .select({ stream: quarantine.stream, reason: quarantine.reason, rows: count() })
    .from(quarantine)
    .where(isNull(quarantine.dealtAt))
    .groupBy(quarantine.stream, quarantine.reason)
    .orderBy(asc(quarantine.stream), asc(quarantine.reason));
}

/** Rows that nobody has dealt with, oldest first, after the given id. */
export async function listQuarantined(pool: Pool, afterId: bigint, limit: number): Promise<QuarantinedRow[]> {
  return drizzle(pool)
    .select()
    .from(quarantine)
    .where(and(isNull(quarantine.dealtAt), gt(quarantine.id, afterId)))
    .orderBy(asc(quarantine.id))
    .limit(limit);
}

/** A person has dealt with the row. False: there is none, or it was dealt with before. */
export async function markDealt(pool: Pool, id: bigint): Promise<boolean> {
  const { rowCount } = await drizzle(pool)
    .update(quarantine)
    .set({ dealtAt: sql`now()` })
    .where(and(eq(quarantine.id, id), isNull(quarantine.dealtAt)));
  return rowCount === 1;
}
