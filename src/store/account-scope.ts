import type { Pool } from 'pg';
import type { AccountScope } from './orders/order-reads.ts';

/** The scope for a statement: null means every account. In SQL: `inScope`. */
export function scopeParameter(scope: AccountScope): readonly string[] | null {
  return scope.kind === 'all' ? null : scope.accountIds;
}

/** SQL: `column` is in the scope given as parameter `place`. */
export function inScope(column: string, place: number): string {
  return `($${place}::text[] is null or ${column} = any($${place}::text[]))`;
}

/**
 * The accounts in the scope, narrowed to one if one is named. If the scope is every account, these
 * are the accounts with orders. They are found by hopping from one to the next in
 * `orders_by_account`, with one probe each. `select distinct` would read the whole index.
 */
export async function accountsOf(
  pool: Pool,
  scope: AccountScope,
  accountId: string | undefined,
): Promise<readonly string[]> {
  if (scope.kind === 'accounts') {
    const named = [...new Set(scope.accountIds)];
    return accountId === undefined ? named : named.filter((each) => each === accountId);
  }
  if (accountId !== undefined) return [accountId];
  const { rows } = await pool.query<{ account_id: string }>(
    `with recursive hop as (
       (select account_id from public.orders order by account_id limit 1)
       union all
       select (select o.account_id from public.orders o where o.account_id > hop.account_id order by o.account_id limit 1)
       from hop where hop.account_id is not null
     )
     select account_id from hop where account_id is not null`,
  );
  return rows.map(({ account_id }) => account_id);
}
