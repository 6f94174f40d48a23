import type { Pool } from 'pg';
import { orderJsonOf } from '../../domain/encode-update.ts';
import { orderKey, type Stream } from '../../domain/order.ts';
import { accountsOf, inScope, scopeParameter } from '../account-scope.ts';
import { readableRows, readRow, type UnreadableRowError } from '../unreadable-row.ts';
import { textArray } from './binary-array.ts';
import { conditionValues, isSelective, orderConditions, symbolValue } from './order-conditions.ts';
import type { AccountScope, OrderFilter, OrderSort, Page, StoredOrder, UnreadableItem } from './order-reads.ts';

export interface OrderQuery {
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

/** Of `current_orders`. */
export const orderColumns =
  'o.stream, o.order_id, o.account_id, o.revision, o.source_version, o.kept_state::text as kept_state, o.payload';

/** The orders of keys `k`. */
export const joinOrders = 'join public.current_orders o on o.stream = k.stream and o.order_id = k.order_id';

const statement = {
  name: 'load_orders',
  text: `select ${orderColumns} from unnest($1::text[], $2::text[]) as k(stream, order_id)
    ${joinOrders} where ${inScope('o.account_id', 3)}`,
};

/** Single orders, many at once: one query for each scope among them, usually one in total. */
export async function loadOrders(
  pool: Pool,
  queries: readonly OrderQuery[],
): Promise<readonly (StoredOrder | UnreadableRowError | undefined)[]> {
  const byScope = new Map<string, { readonly scope: AccountScope; readonly places: number[] }>();
  for (const [place, { scope }] of queries.entries()) {
    const name = scope.kind === 'all' ? '' : JSON.stringify(scope.accountIds);
    const group = byScope.get(name);
    if (group === undefined) byScope.set(name, { scope, places: [place] });
    else group.places.push(place);
  }
  const answers = new Array<StoredOrder | UnreadableRowError | undefined>(queries.length);
  const load = async ({ scope, places }: { readonly scope: AccountScope; readonly places: readonly number[] }) => {
    const asked = new Map<string, OrderQuery>();
    for (const query of places.map((place) => queries[place] as OrderQuery)) asked.set(keyOf(query), query);
    const found = await loadIn(pool, scope, [...asked.values()]);
    for (const place of places) answers[place] = found.get(keyOf(queries[place] as OrderQuery));
  };
  await Promise.all([...byScope.values()].map(load));
  return answers;
}

async function loadIn(
  pool: Pool,
  scope: AccountScope,
  queries: readonly OrderQuery[],
): Promise<Map<string, StoredOrder | UnreadableRowError>> {
  const streams = textArray(queries.map(({ stream }) => stream));
  const orderIds = textArray(queries.map(({ orderId }) => orderId));
  const { rows } = await pool.query<OrderRow>({ ...statement, values: [streams, orderIds, scopeParameter(scope)] });
  const found = new Map<string, StoredOrder | UnreadableRowError>();
  const readable = readableRows(rows, toStoredOrder, (error) => found.set(error.key, error));
  for (const order of readable) found.set(keyOf(order), order);
  return found;
}

function keyOf({ stream, orderId }: Pick<OrderQuery, 'stream' | 'orderId'>): string {
  return orderKey(stream, orderId);
}

function toStoredOrder(row: OrderRow): StoredOrder {
  return {
    stream: row.stream,
    orderId: row.order_id,
    accountId: row.account_id,
    revision: Number(row.revision),
    sourceVersion: row.source_version === null ? undefined : BigInt(row.source_version),
    state: readRow('orders', orderKey(row.stream, row.order_id), () => stateOf(row)),
  };
}

/** It becomes a part of the answer as it is: without JSON there, all of it is spoilt. */
function stateOf({ kept_state: kept, payload }: OrderRow): string {
  if (kept === null && payload === null) throw new TypeError('it is nowhere');
  const state = kept ?? orderJsonOf(payload ?? '');
  if (!state.startsWith('{')) throw new TypeError('it shows no order');
  if (kept === null) JSON.parse(state);
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
  readonly last_stream: string;
  readonly last_id: string;
  readonly looked: string;
};

/**
 * One page looks at this many keys when it filters by anything without an index. An index on the
 * symbol would cost every new order 1.5 µs on the server. So a page for a rare symbol may be short,
 * or empty, and says where the next one continues.
 */
const lookedAt = 2_000;

/**
 * The rest of each stream after the cursor ($3, $4), by order id. The cursor's own stream
 * continues, later ones begin.
 */
const fromCursor = `o.stream = s.stream and o.order_id > case when s.stream = $3 then $4 else '' end order by o.order_id limit $5`;

/** By (stream, order id) through the primary key. */
const keysOfAll = `
  select k.* from unnest($1::text[]) as s(stream)
  cross join lateral (select o.stream, o.order_id from public.orders o where $2::text[] is null and ${fromCursor}) k`;

/**
 * By (stream, order id) through `orders_by_account`: a run for each account, stream and openness,
 * merged.
 */
const keysOfAccounts = (openness: string) => `
  select k.* from unnest($2::text[]) as a(account_id) cross join unnest($1::text[]) as s(stream) cross join unnest(array[${openness}]) as p(is_open)
  cross join lateral (
    select o.stream, o.order_id from public.orders o where o.account_id = a.account_id and o.is_open = p.is_open and ${fromCursor}
  ) k`;

const keysOf = (runs: string) =>
  `keys as materialized (select stream, order_id from (${runs}) as runs order by stream, order_id limit $5)`;

/** A page that shows all that it looks at. With the conditions, planning alone took 1 ms. */
const wholePage = (runs: string) => `
  with ${keysOf(runs)} select ${orderColumns} from keys k ${joinOrders} order by k.stream, k.order_id`;

const chosenPage = (runs: string) => `
  with ${keysOf(runs)},
  page as (
    select ${orderColumns} from keys k ${joinOrders} where ${orderConditions} order by k.stream, k.order_id limit $8
  ),
  last as (select stream as last_stream, order_id as last_id, count(*) over () as looked from keys order by stream desc, order_id desc limit 1)
  select * from last left join page on true order by page.stream, page.order_id`;

const pagesOf = (name: string, runs: string) => ({
  whole: { name, text: wholePage(runs) },
  chosen: { name: `${name}_chosen`, text: chosenPage(runs) },
});

const statements = {
  all: pagesOf('list_orders', keysOfAll),
  any: pagesOf('list_orders_of_accounts', keysOfAccounts('true, false')),
  open: pagesOf('list_open_orders', keysOfAccounts('true')),
  closed: pagesOf('list_closed_orders', keysOfAccounts('false')),
} as const;

/**
 * A page of orders by (stream, order id), as its snapshot shows them. Text sorts as the database
 * sorts it.
 */
export async function listOrders(
  pool: Pool,
  { scope, filter, after, limit }: OrderPageQuery,
): Promise<Page<StoredOrder>> {
  const { stream, accountId, status = null, open } = filter;
  const [afterStream = '', afterId = ''] = after ?? [];
  const streams = (stream === undefined ? ['account', 'prediction'] : [stream]).filter((each) => each >= afterStream);
  const all = scope.kind === 'all' && accountId === undefined && open === undefined;
  const accounts = all ? null : await accountsOf(pool, scope, accountId);
  if (streams.length === 0 || accounts?.length === 0) return { items: [] };
  const { whole, chosen } = all ? statements.all : statements[open === undefined ? 'any' : open ? 'open' : 'closed'];
  const from = [streams, accounts, afterStream, afterId];
  if (!isSelective(filter)) {
    const { rows } = await pool.query<OrderRow>({ ...whole, values: [...from, limit + 1] });
    return toPage(rows, limit);
  }
  const look = Math.max(lookedAt, limit + 1);
  const { rows } = await pool.query<PageRow>({
    ...chosen,
    values: [...from, look, symbolValue(filter), status, limit + 1, ...conditionValues(filter)],
  });
  const found = rows.filter((row): row is PageRow & OrderRow => row.order_id !== null);
  const [row] = rows;
  return toPage(found, limit, row === undefined || Number(row.looked) < look ? undefined : row);
}

/** `last`: of the keys that were looked at, where there may be more of them. */
function toPage(found: readonly OrderRow[], limit: number, last?: Pick<PageRow, 'last_stream' | 'last_id'>) {
  const rows = found.slice(0, limit);
  const shown = rows.at(-1);
  if (found.length > limit && shown !== undefined) return pageOfRows(rows, [shown.stream, shown.order_id]);
  return pageOfRows(rows, last && [last.last_stream, last.last_id]);
}
