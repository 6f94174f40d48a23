import type { Pool } from 'pg';
import type { OpenOrder } from '../commands/command-journal.ts';
import type { Stream } from '../domain/order.ts';

/** Open orders of one account by (stream, orderId), from above `after`: the order of `orders_by_account`, so no more rows are read than are returned. */
export async function readOpenOrders(
  pool: Pool,
  accountId: string,
  after: OpenOrder | undefined,
  limit: number,
): Promise<OpenOrder[]> {
  const { rows } = await pool.query<{ stream: Stream; order_id: string }>(
    `select stream, order_id from public.orders
     where account_id = $1 and is_open and (stream, order_id) > ($2, $3) order by stream, order_id limit $4`,
    [accountId, after?.stream ?? '', after?.orderId ?? '', limit],
  );
  return rows.map(({ stream, order_id }) => ({ stream, orderId: order_id }));
}
