import type { Pool } from 'pg';
import type { OrderStatus } from '../../domain/order.ts';
import { accountsOf } from '../account-scope.ts';
import type { AccountScope, OrderCounts, OrderFilter } from './order-reads.ts';

/** The most closed orders in a count: open ones are few, closed ones pile up. */
const countedAtMost = 20_000;

const statement = {
  name: 'count_orders_by_status',
  text: `with open as (
      select o.status from unnest($2::text[]) as a(account_id) cross join unnest($1::text[]) as s(stream)
      join public.orders o on o.account_id = a.account_id and o.stream = s.stream and o.is_open
      where $3::timestamptz is null or o.updated_at >= $3
    ), closed as (
      select k.status from unnest($2::text[]) as a(account_id) cross join unnest($1::text[]) as s(stream)
      cross join lateral (
        select o.status, o.closed_changed_at from public.orders o
        where o.account_id = a.account_id and o.stream = s.stream and o.closed_changed_at >= $3 order by o.closed_changed_at desc limit $4
      ) k order by k.closed_changed_at desc limit $4
    )
    select status, count(*) as orders, (select count(*) from closed) as closed from (select * from open union all select * from closed) as counted
    group by status order by status`,
} as const;

/**
 * Orders by status: the open ones. With `since`: all orders stored in their newest state since
 * then.
 */
export async function countOrdersByStatus(
  pool: Pool,
  scope: AccountScope,
  { stream, accountId, since }: Pick<OrderFilter, 'stream' | 'accountId' | 'since'>,
): Promise<OrderCounts> {
  const accounts = await accountsOf(pool, scope, accountId);
  const { rows } = await pool.query<{ status: OrderStatus; orders: string; closed: string }>({
    ...statement,
    values: [stream === undefined ? ['account', 'prediction'] : [stream], accounts, since ?? null, countedAtMost],
  });
  return {
    items: rows.map(({ status, orders }) => ({ status, orders: Number(orders) })),
    complete: Number(rows[0]?.closed ?? 0) < countedAtMost,
  };
}
