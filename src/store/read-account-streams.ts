import type { Pool } from 'pg';
import type { Stream } from '../domain/order.ts';

/** The streams on which an account was ever followed. */
export async function readAccountStreams(pool: Pool, accountId: string): Promise<Stream[]> {
  const { rows } = await pool.query<{ stream: Stream }>(
    'select stream from public.accounts where account_id = $1 order by stream',
    [accountId],
  );
  return rows.map(({ stream }) => stream);
}
