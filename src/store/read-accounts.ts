import type { Pool } from 'pg';
import type { Stream } from '../domain/order.ts';
import type { AccountRow, AccountScope } from '../http/order-reads.ts';
import { inScope, scopeParameter } from './account-scope.ts';

/** The accounts that were ever followed, with their open orders counted in `orders_by_account`. */
export async function readAccounts(pool: Pool, scope: AccountScope): Promise<readonly AccountRow[]> {
  const { rows } = await pool.query<{ stream: Stream; account_id: string; is_sim: boolean; open_orders: string }>(
    `select a.stream, a.account_id, a.is_sim, (
       select count(*) from public.orders o where o.account_id = a.account_id and o.stream = a.stream and o.is_open
     ) as open_orders
     from public.accounts a where ${inScope('a.account_id', 1)} order by a.account_id, a.stream`,
    [scopeParameter(scope)],
  );
  return rows.map(({ stream, account_id, is_sim, open_orders }) => ({
    stream,
    accountId: account_id,
    isSim: is_sim,
    openOrders: Number(open_orders),
  }));
}
