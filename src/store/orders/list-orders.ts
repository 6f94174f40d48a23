import type { Pool } from 'pg';
import { orderJsonOf } from '../../domain/encode-update.ts';
import { type OrderStatus, orderKey, type Stream, streams } from '../../domain/order.ts';
import { accountsOf, inScope, scopeParameter } from '../account-scope.ts';
import { isCommandId } from '../commands/command-reads.ts';
import { readableRows, readRow, type UnreadableRowError } from '../rows.ts';
import { textArray } from './binary-array.ts';
import { conditionValues, isSelective, orderConditions } from './order-conditions.ts';
import type {
  AccountScope,
  OrderFilter,
  OrderRead,
  OrderSort,
  Page,
  StoredOrder,
  UnreadableItem,
} from './order-reads.ts';

interface OrderQuery {
  readonly scope: AccountScope;
  readonly stream: Stream;
  readonly orderId: string;
}

export interface OrderRow {
  readonly stream: Stream;
  readonly order_id: string;
  readonly account_id: string;
  readonly revision: string;
  readonly source_version: string | null;
  /** One of the two: see the view `current_orders`. */
  readonly kept_state: string | null;
  readonly payload: string | null;
}

/** The streams, as a value in SQL. */
export const streamArray = `array['${streams.join("', '")}']`;

/** Of `current_orders`. */
export const orderColumns =
  'o.stream, o.order_id, o.account_id, o.revision, o.source_version, o.kept_state::text as kept_state, o.payload';

/** The orders of keys `k`. */
export const joinOrders = 'join public.current_orders o on o.stream = k.stream and o.order_id = k.order_id';

const loadOrdersByKey = {
  name: 'load_orders',
  text: `select ${orderColumns} from unnest($1::text[], $2::text[]) as k(stream, order_id)
    ${joinOrders} where ${inScope('o.account_id', 3)}`,
};

/** Single orders, many at once: one query for each scope among them, usually one in total. */
export async function loadOrders(
  pool: Pool,
  queries: readonly OrderQuery[],
): Promise<readonly (StoredOrder | UnreadableRowError | undefined)[]> {
  const byScope = Map.groupBy(queries.entries(), ([, { scope }]) =>
    scope.kind === 'all' ? '' : JSON.stringify(scope.accountIds),
  );
  const answers = new Array<StoredOrder | UnreadableRowError | undefined>(queries.length);
  const load = async (group: readonly [number, OrderQuery][]) => {
    const found = await loadIn(pool, [...new Map(group.map(([, query]) => [keyOf(query), query])).values()]);
    for (const [place, query] of group) answers[place] = found.get(keyOf(query));
  };
  await Promise.all([...byScope.values()].map(load));
  return answers;
}

/** All are in one scope. */
async function loadIn(
  pool: Pool,
  queries: readonly OrderQuery[],
): Promise<Map<string, StoredOrder | UnreadableRowError>> {
  const scope = queries[0]?.scope ?? { kind: 'accounts', accountIds: [] };
  const streams = textArray(queries.map(({ stream }) => stream));
  const orderIds = textArray(queries.map(({ orderId }) => orderId));
  const { rows } = await pool.query<OrderRow>({
    ...loadOrdersByKey,
    values: [streams, orderIds, scopeParameter(scope)],
  });
  const found = new Map<string, StoredOrder | UnreadableRowError>();
  const readable = readableRows(rows, toStoredOrder, (error) => found.set(error.key, error));
  for (const order of readable) found.set(keyOf(order), order);
  return found;
}

function keyOf({ stream, orderId }: Pick<OrderQuery, 'stream' | 'orderId'>): string {
  return orderKey(stream, orderId);
}

function toStoredOrder(row: OrderRow): StoredOrder {
  const key = orderKey(row.stream, row.order_id);
  return {
    stream: row.stream,
    orderId: row.order_id,
    accountId: row.account_id,
    revision: Number(row.revision),
    sourceVersion: row.source_version === null ? undefined : BigInt(row.source_version),
    state: readRow('orders', key, () => stateOf(key, row)),
  };
}

/**
 * By order, the last payload that was read, and the state in it. To check its JSON again took a
 * sixth of the service's time for a page. The text is compared, so none is taken for another.
 */
const checked = new Map<string, { readonly payload: string; readonly state: string }>();
/** 1.3 kB each. */
const mostChecked = 4_000;

/** It becomes a part of the answer as it is: without JSON there, all of it is spoilt. */
function stateOf(key: string, { kept_state: kept, payload }: OrderRow): string {
  const known = checked.get(key);
  if (payload !== null && known?.payload === payload) return known.state;
  if (kept === null && payload === null) throw new TypeError('it is nowhere');
  const state = kept ?? orderJsonOf(payload ?? '');
  if (!state.startsWith('{')) throw new TypeError('it shows no order');
  if (payload !== null) {
    JSON.parse(state);
    if (checked.size >= mostChecked) checked.clear();
    checked.set(key, { payload, state });
  }
  return state;
}

/** A page of these rows, and where the next one begins. */
export function pageOfRows(rows: readonly OrderRow[], next?: readonly string[]): Page<StoredOrder> {
  const unreadable: UnreadableItem[] = [];
  const items = readableRows(rows, toStoredOrder, (_, { stream, order_id: orderId, account_id: accountId }) =>
    unreadable.push({ stream, orderId, accountId }),
  );
  return { items, ...(unreadable.length > 0 && { unreadable }), ...(next !== undefined && { next }) };
}

export interface OrderPageQuery {
  readonly scope: AccountScope;
  readonly filter: OrderFilter;
  readonly after: readonly string[] | undefined;
  readonly limit: number;
  readonly sort: OrderSort;
}

type PageRow = { [column in keyof OrderRow]: OrderRow[column] | null } & {
  /** The walk's end: the account, and its last key looked at. */
  readonly last_account: string;
  readonly last_key: string | null;
  readonly is_cut: boolean;
};

/**
 * One page looks at this many keys when it filters by anything without an index. An index on the
 * symbol would cost every new order 1.5 µs on the server. So a page for a rare symbol may be short,
 * or empty, and says where the next one continues.
 */
const lookedAt = 2_000;
/** A page goes through this many accounts. One without a match costs two steps in an index. */
const walkedAt = 2_000;

/**
 * A page goes from account to account, until it has the keys that it needs ($5). So all pages
 * together read each key once or twice, however many accounts there are. Merged by order id over
 * all accounts, each page read a key or more of every account: 100,000 open orders of 2,000
 * accounts took 11 million keys.
 *
 * $2: the accounts, in the order in which they are read. Null: every one, from $3 on, found by
 * hopping from one to the next in `orders_by_account`. $4: stream and id behind which the first
 * account goes on. Of an account, a run for each stream and openness is merged. Without `offset 0`
 * the planner copies both subqueries to each of their uses.
 */
const walk = (openness: string) => `
  recursive walk(step, account_id, keys, room) as (
    select 0, null::text, '{}'::text[], $5::integer
    union all
    select w.step + 1, a.account_id, k.keys, w.room - cardinality(k.keys)
    from walk w
    cross join lateral (select case when $2::text[] is not null then ($2::text[])[w.step + 1] when w.step = 0 then $3::text
      else (select o.account_id from public.orders o where o.account_id > w.account_id order by o.account_id limit 1) end as account_id offset 0) a
    cross join lateral (select array(
      select r.stream || ':' || r.order_id from unnest($1::text[]) as s(stream) cross join unnest(array[${openness}]) as p(is_open)
      cross join lateral (
        select o.stream, o.order_id from public.orders o
        where o.account_id = a.account_id and o.stream = s.stream and o.is_open = p.is_open
          and o.order_id > case when w.step = 0 and s.stream = ($4::text[])[1] then ($4::text[])[2] else '' end
        order by o.order_id limit w.room
      ) r
      where w.step > 0 or s.stream >= ($4::text[])[1]
      order by r.stream, r.order_id limit w.room
    ) as keys offset 0) k
    where w.room > 0 and w.step < ${walkedAt} and a.account_id is not null
  ),
  keys as materialized (
    select w.step, split_part(k.key, ':', 1) as stream, substr(k.key, strpos(k.key, ':') + 1) as order_id
    from walk w cross join lateral unnest(w.keys) as k(key)
  )`;

const pageOf = (name: string, openness: string) => ({
  name,
  text: `
  with ${walk(openness)},
  page as (
    select k.step, ${orderColumns} from keys k ${joinOrders}
    where ${orderConditions(7).all} order by k.step, k.stream, k.order_id limit $6
  ),
  last as (
    select account_id as last_account, keys[cardinality(keys)] as last_key, room <= 0 or step = ${walkedAt} as is_cut from walk order by step desc limit 1
  )
  select * from last left join page on true order by page.step, page.stream, page.order_id`,
});

const statements = {
  any: pageOf('list_orders', 'true, false'),
  open: pageOf('list_open_orders', 'true'),
  closed: pageOf('list_closed_orders', 'false'),
};

/**
 * A page by (account, stream, order id), as its snapshot shows the orders. Streams and order ids
 * sort as the database sorts text. A cursor has the last key's three, or an account alone if no
 * order was found in it yet.
 */
export async function listOrders(
  pool: Pool,
  { scope, filter, after, limit }: OrderPageQuery,
): Promise<Page<StoredOrder>> {
  const { stream, accountId, open } = filter;
  const [first = '', ...behind] = after ?? [];
  const isOfAll = scope.kind === 'all' && accountId === undefined;
  const accounts = isOfAll
    ? null
    : (await accountsOf(pool, scope, accountId)).toSorted().filter((each) => each >= first);
  if (accounts?.length === 0) return { items: [] };
  const values = [
    stream === undefined ? streams : [stream],
    accounts,
    first,
    (accounts?.[0] ?? first) === first && behind.length > 0 ? behind : ['', ''],
    ...[isSelective(filter) ? Math.max(lookedAt, limit + 1) : limit + 1, limit + 1],
    ...conditionValues(filter),
  ];
  const statement = statements[open === undefined ? 'any' : open ? 'open' : 'closed'];
  const { rows } = await pool.query<PageRow>({ ...statement, values });
  return toPage(rows, limit);
}

function toPage(rows: readonly PageRow[], limit: number): Page<StoredOrder> {
  const found = rows.filter((row): row is PageRow & OrderRow => row.order_id !== null);
  const shown = found.slice(0, limit);
  const end = shown.at(-1);
  if (found.length > limit && end !== undefined) return pageOfRows(shown, [end.account_id, end.stream, end.order_id]);
  const [last] = rows;
  if (last?.is_cut !== true) return pageOfRows(shown);
  const [stream = '', ...id] = last.last_key?.split(':') ?? [];
  return pageOfRows(shown, [last.last_account, ...(last.last_key === null ? [] : [stream, id.join(':')])]);
}

/** The most closed orders in a count: open ones are few, closed ones pile up. */
const countedAtMost = 20_000;

const countByStatus = {
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
export const countOrdersByStatus: OrderRead<'countOrders'> = async (pool, scope, { stream, accountId, since }) => {
  const accounts = await accountsOf(pool, scope, accountId);
  const { rows } = await pool.query<{ status: OrderStatus; orders: string; closed: string }>({
    ...countByStatus,
    values: [stream === undefined ? streams : [stream], accounts, since ?? null, countedAtMost],
  });
  return {
    items: rows.map(({ status, orders }) => ({ status, orders: Number(orders) })),
    complete: Number(rows[0]?.closed ?? 0) < countedAtMost,
  };
};

/** Commands that one reference may name. */
const mostNamed = 1_000;

/**
 * Through indexes only, so it is quick however old the order is. `$7` is the text, whole: an
 * order's id, a command's id, an attempt's id (the platform's reference) or the caller's reference.
 */
const findByReference = {
  name: 'find_orders',
  text: `with named as materialized (
      select $5::uuid as command_id where $5::uuid is not null
      union select a.command_id from public.journal a where a.attempt_id = $7
      union select c.command_id from public.journal c where c.caller_ref = $7 and ${inScope('c.account_id', 1)}
        and ($2::text is null or c.account_id = $2) limit ${mostNamed + 1}
    ), keys as materialized (
      select s.stream, $7 as order_id from unnest(${streamArray}) as s(stream)
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
    ...findByReference,
    values: [scopeParameter(scope), accountId, stream, open, commandId, limit + 1, q, ...conditionValues(rest)],
  });
  return rows.length > limit || rows[0]?.more === true ? undefined : pageOfRows(rows);
}
