import type { Pool } from 'pg';
import type { OpenOrder } from '../commands/command-journal.ts';
import type { Stream } from '../domain/order.ts';
import type { Selectable } from '../domain/select-orders.ts';

interface Row {
  readonly stream: Stream;
  readonly order_id: string;
  readonly symbol: string;
  readonly side: string;
  readonly principal: string | null;
  readonly refs: string[];
}

/**
 * Open orders of one account by (stream, orderId), from above `after`: the order of `orders_by_account`, so no more rows are read than are returned.
 * Its place is the one that it is bound to or, where it was shown without its reference so far, the one whose answer named it.
 */
export async function readOpenOrders(
  pool: Pool,
  accountId: string,
  after: OpenOrder | undefined,
  limit: number,
): Promise<(OpenOrder & Selectable)[]> {
  const { rows } = await pool.query<Row>(
    `select o.stream, o.order_id, o.symbol, s.side, coalesce(c.principal, p.principal) as principal,
       array_remove(array[coalesce(s."callerRef", p.caller_ref), s."clOrdId", s."clientOrderRef"], null) as refs
     from public.orders o
     cross join lateral json_to_record(o.state) as s(side text, "commandId" uuid, "callerRef" text, "clOrdId" text, "clientOrderRef" text)
     left join public.commands c on c.command_id = s."commandId"
     left join public.commands p on p.kind = 'place' and p.stream = o.stream and p.order_id = o.order_id
     where o.account_id = $1 and o.is_open and (o.stream, o.order_id) > ($2, $3) order by o.stream, o.order_id limit $4`,
    [accountId, after?.stream ?? '', after?.orderId ?? '', limit],
  );
  return rows.map(({ stream, order_id, symbol, side, principal, refs }) => ({
    ...{ stream, orderId: order_id, symbol, side, references: refs },
    ...(principal !== null && { principal }),
  }));
}
