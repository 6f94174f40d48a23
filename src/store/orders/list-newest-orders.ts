import type { Pool } from 'pg';
import type { Stream } from '../../domain/order.ts';
import { streams } from '../../domain/order.ts';
import { accountsOf } from '../account-scope.ts';
import { joinOrders, type OrderPageQuery, type OrderRow, orderColumns, pageOfRows } from './list-orders.ts';
import { conditionValues, isSelective, orderConditions } from './order-conditions.ts';
import type { Page, StoredOrder } from './order-reads.ts';

type NewestRow = { [column in keyof OrderRow]: OrderRow[column] | null } & {
  readonly changed: string | null;
  readonly last_changed: string;
  readonly last_stream: Stream;
  readonly last_id: string;
  readonly looked: string;
};

/**
 * A selective page looks at this many keys in all accounts together, so at least as many in each as
 * it shows.
 */
const lookedAtInAll = 20_000;
const lookedAt = 2_000;

const { since, until, all } = orderConditions(8);

/**
 * `column` is in the requested time, and the key is older than the cursor ($3, $4, $7). An index
 * answers the comparison with $3 alone.
 */
const olderThanCursor = (column: string) => `
  o.account_id = a.account_id and o.stream = s.stream and o.${column} >= ${since} and o.${column} < ${until}
  and o.${column} <= $3::timestamptz and (o.${column}, s.stream, o.order_id) < ($3::timestamptz, $4::text, $7::text)
  order by o.${column} desc, o.order_id desc limit $5`;

/**
 * Open orders. There is no index on a change's time, since every change would have to touch it. All
 * the account's open orders are read and sorted, from `orders_by_account`. Closed ones pile up, so
 * they come sorted from `orders_closed`
 * (docs/decisions/029-newest-change-without-an-index-on-it.md).
 */
const openRun = `select o.order_id, o.updated_at as changed_at from public.orders o where o.is_open and ${olderThanCursor('updated_at')}`;
const closedRun = `select o.order_id, o.closed_changed_at as changed_at from public.orders o where ${olderThanCursor('closed_changed_at')}`;

const runs = (run: string) => `
  select s.stream, k.order_id, k.changed_at from unnest($2::text[]) as a(account_id) cross join unnest($1::text[]) as s(stream)
  cross join lateral (${run}) k`;

const asText = (time: string) => `to_char(${time} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;

const pageOf = (keys: string) => `
  with keys as materialized (
    select stream, order_id, changed_at from (${keys}) as merged order by changed_at desc, stream desc, order_id desc limit $5
  ),
  page as (
    select ${orderColumns}, k.changed_at from keys k ${joinOrders}
    where ${all} order by k.changed_at desc, k.stream desc, k.order_id desc limit $6
  ),
  last as (
    select ${asText('changed_at')} as last_changed, stream as last_stream, order_id as last_id, count(*) over () as looked
    from keys order by changed_at, stream, order_id limit 1
  )
  select page.*, last.*, ${asText('page.changed_at')} as changed from last left join page on true
  order by page.changed_at desc, page.stream desc, page.order_id desc`;

const statements = {
  any: { name: 'newest_orders', text: pageOf(`${runs(openRun)} union all ${runs(closedRun)}`) },
  open: { name: 'newest_open_orders', text: pageOf(runs(openRun)) },
  closed: { name: 'newest_closed_orders', text: pageOf(runs(closedRun)) },
} as const;

/**
 * A page of orders by the time of their newest change, newest first, then by stream and order id
 * from the last. A cursor is that time (microseconds) with both.
 */
export async function listNewestOrders(
  pool: Pool,
  { scope, filter, after, limit }: OrderPageQuery,
): Promise<Page<StoredOrder>> {
  const { stream, accountId, open } = filter;
  const [changed = 'infinity', afterStream = '', afterId = ''] = after ?? [];
  const accounts = await accountsOf(pool, scope, accountId);
  if (accounts.length === 0) return { items: [] };
  const share = Math.min(lookedAt, Math.ceil(lookedAtInAll / accounts.length));
  const look = isSelective(filter) ? Math.max(share, limit + 1) : limit + 1;
  const { rows } = await pool.query<NewestRow>({
    ...statements[open === undefined ? 'any' : open ? 'open' : 'closed'],
    values: [
      ...[stream === undefined ? streams : [stream], accounts, changed, afterStream, look, limit + 1, afterId],
      ...conditionValues(filter),
    ],
  });
  return toPage(rows, limit, look);
}

function toPage(rows: readonly NewestRow[], limit: number, look: number): Page<StoredOrder> {
  const found = rows.filter((row): row is NewestRow & OrderRow & { changed: string } => row.order_id !== null);
  const shown = found.slice(0, limit);
  const last = shown.at(-1);
  if (found.length > limit && last !== undefined) return pageOfRows(shown, [last.changed, last.stream, last.order_id]);
  const [row] = rows;
  if (row === undefined || Number(row.looked) < look) return pageOfRows(shown);
  return pageOfRows(shown, [row.last_changed, row.last_stream, row.last_id]);
}
