import type { Pool } from 'pg';
import { orderKey, type Stream } from '../domain/order.ts';
import type { AccountScope, StoredOrder } from '../http/order-reads.ts';
import { inScope, scopeParameter } from './account-scope.ts';
import { textArray } from './binary-array.ts';

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
  readonly state: string;
}

export const orderColumns = 'o.stream, o.order_id, o.account_id, o.revision, o.source_version, o.state::text as state';

const statement = {
  name: 'load_orders',
  text: `select ${orderColumns} from unnest($1::text[], $2::text[]) as k(stream, order_id)
    join public.orders o on o.stream = k.stream and o.order_id = k.order_id where ${inScope('o.account_id', 3)}`,
};

/** Single orders, many at once: one query for each scope among them, as a rule one in all. */
export async function loadOrders(pool: Pool, queries: readonly OrderQuery[]): Promise<readonly (StoredOrder | undefined)[]> {
  const byScope = new Map<string, { readonly scope: AccountScope; readonly places: number[] }>();
  for (const [place, { scope }] of queries.entries()) {
    const name = scope.kind === 'all' ? '' : JSON.stringify(scope.accountIds);
    const group = byScope.get(name);
    if (group === undefined) byScope.set(name, { scope, places: [place] });
    else group.places.push(place);
  }
  const answers = new Array<StoredOrder | undefined>(queries.length);
  const load = async ({ scope, places }: { readonly scope: AccountScope; readonly places: readonly number[] }) => {
    const asked = new Map<string, OrderQuery>();
    for (const query of places.map((place) => queries[place] as OrderQuery)) asked.set(keyOf(query), query);
    const found = await loadIn(pool, scope, [...asked.values()]);
    for (const place of places) answers[place] = found.get(keyOf(queries[place] as OrderQuery));
  };
  await Promise.all([...byScope.values()].map(load));
  return answers;
}

async function loadIn(pool: Pool, scope: AccountScope, queries: readonly OrderQuery[]): Promise<Map<string, StoredOrder>> {
  const streams = textArray(queries.map(({ stream }) => stream));
  const orderIds = textArray(queries.map(({ orderId }) => orderId));
  const { rows } = await pool.query<OrderRow>({ ...statement, values: [streams, orderIds, scopeParameter(scope)] });
  return new Map(rows.map((row) => [orderKey(row.stream, row.order_id), toStoredOrder(row)]));
}

function keyOf({ stream, orderId }: OrderQuery): string {
  return orderKey(stream, orderId);
}

export function toStoredOrder(row: OrderRow): StoredOrder {
  return {
    stream: row.stream,
    orderId: row.order_id,
    accountId: row.account_id,
    revision: Number(row.revision),
    sourceVersion: row.source_version === null ? undefined : BigInt(row.source_version),
    state: row.state,
  };
}
