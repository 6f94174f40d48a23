import type { Pool } from 'pg';
import { inScope, scopeParameter } from '../account-scope.ts';
import { isCommandId } from '../commands/command-reads.ts';
import { joinOrders, type OrderPageQuery, type OrderRow, orderColumns, pageOfRows } from './list-orders.ts';
import { conditionValues, orderConditions } from './order-conditions.ts';
import type { Page, StoredOrder } from './order-reads.ts';

/** Commands that one reference may name. */
const mostNamed = 1_000;

/**
 * Through indexes only, so it is quick however old the order is. `$7` is the text, whole: an
 * order's id, a command's id, an attempt's id (the platform's reference) or the caller's reference.
 */
const statement = {
  name: 'find_orders',
  text: `with named as materialized (
      select $5::uuid as command_id where $5::uuid is not null
      union select a.command_id from public.attempts a where a.attempt_id = $7
      union select c.command_id from public.commands c where c.caller_ref = $7 and ${inScope('c.account_id', 1)}
        and ($2::text is null or c.account_id = $2) limit ${mostNamed + 1}
    ), keys as materialized (
      select s.stream, $7 as order_id from unnest(array['account', 'prediction']) as s(stream)
      union select b.stream, b.order_id from named n join public.order_bindings b on b.command_id = n.command_id
    )
    select ${orderColumns}, (select count(*) from named) > ${mostNamed} as more from keys k ${joinOrders}
    where ${inScope('o.account_id', 1)} and ($2::text is null or o.account_id = $2) and ($3::text is null or o.stream = $3)
      and ($4::boolean is null or o.is_open = $4) and ${orderConditions(8).all}
    order by o.updated_at desc, o.stream, o.order_id limit $6`,
} as const;

/**
 * All orders that `filter.q` names whole and that match the rest of the filter, newest first.
 * Undefined: there are more than `limit`, or may be.
 */
export async function findOrders(
  pool: Pool,
  { scope, filter, limit }: OrderPageQuery,
): Promise<Page<StoredOrder> | undefined> {
  const { q, ...rest } = filter;
  const { accountId = null, stream = null, open = null } = rest;
  if (q === undefined) return pageOfRows([]);
  const commandId = isCommandId(q) ? q : null;
  const { rows } = await pool.query<OrderRow & { readonly more: boolean }>({
    ...statement,
    values: [scopeParameter(scope), accountId, stream, open, commandId, limit + 1, q, ...conditionValues(rest)],
  });
  return rows.length > limit || rows[0]?.more === true ? undefined : pageOfRows(rows);
}
