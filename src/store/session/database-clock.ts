import type { Pool } from 'pg';

/**
 * Postgres' present time, in milliseconds since the epoch. Rejects when the database can't be
 * reached.
 */
export async function databaseTimeMs(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ ms: string }>('select extract(epoch from clock_timestamp()) * 1000 as ms');
  return Number(rows[0]?.ms);
}
