// What a user saw: The console took minutes to load the open orders of 2,000 accounts.

import { expect, it } from 'vitest';
import type { AccountScope, OrderFilter } from '../../../src/store/orders/order-reads.ts';
import { rowsRead } from '../../store/rows-read.ts';
import { all, only, readRig } from '../../support/orders/read-rig.ts';

/** Of each account eight orders are open, and of each second one none. */
const orders = `insert into orders (stream, order_id, lane, account_id, symbol, status, revision, state, join_state)
  select case when i % 3 = 0 then 'account' else 'prediction' end, 'o-' || a || '-' || i, 0, 'acct-' || a, 'S',
    case when a % 2 = 0 and i % 3 < 2 then 'new' else 'filled' end, 1, '{}', '{}'
  from generate_series(1, $1::int) a cross join generate_series(0, 11) i`;

it.each([
  { accounts: 30, limit: 50 },
  { accounts: 120, limit: 50 },
  { accounts: 120, limit: 500 },
])('all pages together read each order a few times, of $accounts accounts in pages of $limit', async (sizes) => {
  await using rig = await readRig();
  await rig.pool.query('alter table orders set (autovacuum_enabled = off)');
  await rig.pool.query(orders, [sizes.accounts]);
  const named = only(...Array.from({ length: sizes.accounts }, (_, i) => `acct-${i + 1}`));
  const expected = { open: sizes.accounts * 4, any: sizes.accounts * 12 };
  const lists: readonly (readonly [AccountScope, OrderFilter, number])[] = [
    [all, { open: true }, expected.open],
    [named, { open: true }, expected.open],
    [named, { open: false }, expected.any - expected.open],
    [named, {}, expected.any],
  ];
  for (const [scope, filter, shown] of lists) {
    const first = rig.queries.length;
    const ids = await rig.ids(scope, filter, sizes.limit);
    expect(new Set(ids).size).toBe(shown);
    expect(ids).toHaveLength(shown);
    let read = 0;
    for (const asked of rig.queries.slice(first)) read += await rowsRead(rig.readPool, asked);
    // Its key, its row, and for each account a step to the next one and what was read in vain at
    // the end of a page.
    expect(read, JSON.stringify({ scope: scope.kind, filter })).toBeLessThan(6 * shown + 4 * sizes.accounts);
  }
});

it('a page ends behind two thousand accounts without an open order, and the next one goes on', async () => {
  await using rig = await readRig();
  await rig.pool.query(`insert into orders (stream, order_id, lane, account_id, symbol, status, revision, state, join_state)
    select 'account', 'o-' || i, 0, 'acct-' || i, 'S', case when i = 3100 then 'new' else 'filled' end, 1, '{}', '{}'
    from generate_series(1001, 3100) i`);
  const named = Array.from({ length: 2_100 }, (_, i) => `acct-${i + 1_001}`);
  for (const scope of [all, only(...named)]) {
    const first = await rig.reads.listOrders(scope, { open: true }, undefined, 50);
    expect(first.items).toEqual([]);
    expect(first.next).toHaveLength(1);
    expect(await rig.ids(scope, { open: true }, 50)).toEqual(['account:o-3100']);
  }
});

it('a cursor opens no account that the caller may not see', async () => {
  await using rig = await readRig();
  await rig.pool.query(orders, [3]);
  const seen = only('acct-1', 'acct-3');
  for (const after of [['acct-2'], ['acct-2', 'account', 'o-2-0'], ['acct-2', 'prediction', 'o-9']]) {
    const { items } = await rig.reads.listOrders(seen, {}, after, 50);
    expect(new Set(items.map(({ accountId }) => accountId))).toEqual(new Set(['acct-3']));
    expect(items).toHaveLength(12);
  }
});
