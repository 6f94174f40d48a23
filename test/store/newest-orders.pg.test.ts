import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { OrderFilter } from '../../src/store/orders/order-reads.ts';
import { newPlace, unknown } from '../support/commands/journal-fixtures.ts';
import { all, only, readRig } from '../support/orders/read-rig.ts';
import { rowsRead } from './rows-read.ts';

const statuses = ['new', 'filled', 'partially_filled', 'canceled'] as const;
const sides = ['buy', 'sell_short', 'buy_to_cover', 'sell'];
const isOpen = (status: string) => status === 'new' || status === 'partially_filled';

describe('orders by newest change', () => {
  it('show what the scope and the filter say, newest first, without repeats or holes', async () => {
    await using rig = await readRig();
    const accounts = ['a', 'b', 'c'];
    const specs = Array.from({ length: 90 }, (_, i) => ({
      ...{ orderId: `o-${(i * 7919) % 90}`, stream: i % 3 === 0 ? ('account' as const) : ('prediction' as const) },
      ...{
        accountId: accounts[(i * 5) % 3] ?? '',
        symbol: i % 10 === 0 ? 'RARE' : 'FED',
        status: statuses[i % 4] ?? 'new',
      },
      ...{ side: sides[(i * 3) % 4] ?? '', origin: i % 5 === 0 ? ('tidemark' as const) : ('external' as const) },
      references: { callerRef: `Mine-${i % 7}` },
    }));
    // Batches of 15: all orders of one have the same time.
    for (let from = 0; from < 90; from += 15) await rig.store(...specs.slice(from, from + 15));
    for (const spec of specs.slice(0, 9)) await rig.store({ ...spec, revision: 2 });
    const { rows: times } = await rig.pool.query<{ key: string; at: string; place: string }>(
      `select stream || ':' || order_id as key, to_char(updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at,
       row_number() over (order by updated_at desc, stream desc, order_id desc) as place from orders`,
    );
    const byKey = new Map(times.map(({ key, at, place }) => [key, { at, place: Number(place) }]));
    const optional = <T>(of: fc.Arbitrary<T>) => fc.option(of, { nil: undefined });
    const time = fc.constantFrom(...new Set(times.map(({ at }) => at)));
    const query = fc.record({
      ...{ accountIds: optional(fc.subarray([...accounts, 'nobody'])), limit: fc.integer({ min: 1, max: 40 }) },
      ...{
        stream: optional(fc.constantFrom('account' as const, 'prediction' as const)),
        accountId: optional(fc.constantFrom(...accounts)),
      },
      ...{
        symbol: optional(fc.constantFrom('RARE', 'NONE')),
        status: optional(fc.constantFrom(...statuses)),
        open: optional(fc.boolean()),
      },
      ...{
        side: optional(fc.constantFrom('buy' as const, 'sell' as const)),
        origin: optional(fc.constantFrom('tidemark' as const, 'external' as const)),
      },
      ...{
        since: optional(time),
        until: optional(time),
        q: optional(fc.constantFrom('mine-3', 'INE-5', 'o-1', 'none')),
      },
      sort: fc.constantFrom('-updatedAt' as const, 'orderId' as const),
    });
    await fc.assert(
      fc.asyncProperty(query, async ({ accountIds, limit, sort, ...wanted }) => {
        const scope = accountIds === undefined ? all : only(...accountIds);
        const filter = Object.fromEntries(
          Object.entries(wanted).filter(([, value]) => value !== undefined),
        ) as OrderFilter;
        const { stream, accountId, symbol, status, open, side, origin, since = '', until = 'z', q } = filter;
        const names = (each: (typeof specs)[number]) =>
          [each.orderId, each.references.callerRef].map((name) => name.toLowerCase());
        const among = specs
          .filter((each) => scope.kind === 'all' || scope.accountIds.includes(each.accountId))
          .filter((each) => (stream ?? each.stream) === each.stream && (accountId ?? each.accountId) === each.accountId)
          .filter((each) => (symbol ?? each.symbol) === each.symbol && (status ?? each.status) === each.status)
          .filter((each) => (open ?? isOpen(each.status)) === isOpen(each.status))
          .filter((each) => side === undefined || each.side.toLowerCase().startsWith(side))
          .filter((each) => (origin ?? each.origin) === each.origin)
          .map((each) => ({ ...each, key: `${each.stream}:${each.orderId}` }))
          .filter(({ key }) => (byKey.get(key)?.at ?? '') >= since && (byKey.get(key)?.at ?? '') < until);
        const whole = among.filter((each) => each.orderId === q);
        const matching =
          whole.length > 0
            ? whole
            : among.filter((each) => names(each).some((name) => name.includes((q ?? '').toLowerCase())));
        const ids = await rig.ids(scope, filter, limit, sort);
        const expected = matching.map(({ key }) => key);
        expect([...ids].sort()).toEqual(expected.sort());
        if (sort === '-updatedAt')
          expect(ids).toEqual([...ids].sort((a, b) => (byKey.get(a)?.place ?? 0) - (byKey.get(b)?.place ?? 0)));
      }),
      { numRuns: 120 },
    );
  });

  it('do not miss an order that changes between two pages, nor show one twice that stays', async () => {
    await using rig = await readRig();
    for (const orderId of ['o-1', 'o-2', 'o-3', 'o-4']) await rig.store({ orderId });
    const first = await rig.reads.listOrders(all, {}, undefined, 2, '-updatedAt');
    expect(first.items.map(({ orderId }) => orderId)).toEqual(['o-4', 'o-3']);
    // Each changed order is above the cursor now, and below it nothing moved.
    await rig.store({ orderId: 'o-3', revision: 2 }, { orderId: 'o-5', status: 'filled' });
    const second = await rig.reads.listOrders(all, {}, first.next, 2, '-updatedAt');
    expect([second.items.map(({ orderId }) => orderId), second.next]).toEqual([['o-2', 'o-1'], undefined]);
    expect(await rig.ids(all, {}, 3, '-updatedAt')).toEqual(
      ['o-5', 'o-3', 'o-4', 'o-2', 'o-1'].map((id) => `prediction:${id}`),
    );
  });

  it('read by indexes no more than the open orders and a page, of 200,000 and before the table was ever analysed', async () => {
    await using rig = await readRig();
    await rig.pool.query('alter table orders set (autovacuum_enabled = off)');
    for (let from = 0; from < 200_000; from += 10_000) {
      await rig.pool.query(
        `insert into orders (stream, order_id, lane, account_id, symbol, status, revision, state, join_state, updated_at)
         select case when i % 2 = 0 then 'account' else 'prediction' end, 'o-' || i, 0, 'acct-' || i % 20, 'S',
           case when i % 200 = 0 then 'new' else 'filled' end, 1, '{}', '{}', timestamptz '2026-01-01' + i * interval '1 second'
         from generate_series($1::int + 1, $1 + 10000) i`,
        [from],
      );
    }
    const middle = new Date(Date.UTC(2026, 0, 1) + 100_000_000).toISOString().replace('Z', '000Z');
    const filters: OrderFilter[] = [
      {},
      { open: true },
      { open: false },
      { stream: 'account' },
      { accountId: 'acct-0' },
      { until: middle },
    ];
    for (const scope of [all, only('acct-0'), only('acct-1', 'acct-2', 'acct-3')]) {
      for (const filter of filters) {
        for (const after of [undefined, [middle, 'account', 'o-100000']]) {
          const first = rig.queries.length;
          const { items } = await rig.reads.listOrders(scope, filter, after, 50, '-updatedAt');
          const accounts = scope.kind === 'all' && filter.accountId === undefined ? 20 : 3;
          // 1,000 open orders in all, of which every one is in account 0; two
          // runs of an account, four with both streams.
          const most = 1_000 + accounts * 2 * (filter.until === undefined ? 51 : 2_000) + 51;
          const asked = rig.queries.slice(first);
          for (const each of asked) {
            expect(
              await rowsRead(rig.readPool, each),
              JSON.stringify({ scope, filter, after, shown: items.length }),
            ).toBeLessThanOrEqual(most);
          }
        }
      }
    }
    const counted = rig.queries.length;
    expect(await rig.reads.countOrders(all, {})).toEqual({ items: [{ status: 'new', orders: 1_000 }], complete: true });
    const [, count] = rig.queries.slice(counted);
    expect(await rowsRead(rig.readPool, count ?? { text: '', values: [] })).toBeLessThanOrEqual(1_000);
  });

  it('cost an open order’s update no index: it stays in its page', async () => {
    await using rig = await readRig();
    await rig.store({ orderId: 'o-1' });
    const client = await rig.pool.connect();
    try {
      await client.query('begin');
      const updated = async (status: string) => {
        await client.query('update orders set revision = revision + 1, status = $1, updated_at = clock_timestamp()', [
          status,
        ]);
        const { rows } = await client.query(
          `select pg_stat_get_xact_tuples_updated('orders'::regclass)::int as all, pg_stat_get_xact_tuples_hot_updated('orders'::regclass)::int as in_page`,
        );
        return rows[0];
      };
      expect(await updated('new')).toEqual({ all: 1, in_page: 1 });
      expect(await updated('partially_filled')).toEqual({ all: 2, in_page: 2 });
      // The one update that closes it touched an index before there was this one.
      expect(await updated('filled')).toEqual({ all: 3, in_page: 2 });
    } finally {
      client.release(true);
    }
  });
});

describe('a text that names an order whole', () => {
  it('finds it however old it is: by its id, its command, our reference on it, or the caller’s', async () => {
    await using rig = await readRig();
    const command = await unknown(rig.journal, newPlace({ callerRef: 'ref-9' }));
    const [attempt] = command.attempts;
    await rig.store({ orderId: 'o-1', accountId: 'acct-1' }, { orderId: 'o-12', accountId: 'acct-1' });
    await rig.pool.query(
      'insert into order_bindings (stream, order_id, attempt_id, command_id, matches) values ($1, $2, $3, $4, true)',
      ['prediction', 'o-1', attempt?.attemptId, command.commandId],
    );
    for (const q of ['o-1', command.commandId, attempt?.attemptId ?? '', 'ref-9'])
      for (const sort of ['orderId', '-updatedAt'] as const)
        expect(await rig.ids(all, { q }, 50, sort), q).toEqual(['prediction:o-1']);
    expect(await rig.ids(only('acct-2'), { q: 'o-1' }, 50)).toEqual([]);
    expect(await rig.ids(all, { q: 'o-1', open: false }, 50)).toEqual([]);
    expect(await rig.ids(all, { q: 'O-1' }, 50)).toEqual(['prediction:o-1', 'prediction:o-12']);
  });
});

describe('counts by status', () => {
  it('are of open orders, and with a time of all that changed since, in the scope', async () => {
    await using rig = await readRig();
    await rig.store({ orderId: 'o-1' }, { orderId: 'o-2', status: 'filled' }, { orderId: 'o-3', accountId: 'b' });
    await rig.store(
      { orderId: 'o-4', status: 'filled', accountId: 'b' },
      { orderId: 'o-5', status: 'partially_filled' },
    );
    const { rows } = await rig.pool.query(
      "select (updated_at::timestamptz at time zone 'UTC')::text || 'Z' as at from orders where order_id = 'o-5'",
    );
    const count = async (...asked: Parameters<typeof rig.reads.countOrders>) => {
      const { items, complete } = await rig.reads.countOrders(...asked);
      expect(complete).toBe(true);
      return Object.fromEntries(items.map(({ status, orders }) => [status, orders]));
    };
    expect(await count(all, {})).toEqual({ new: 2, partially_filled: 1 });
    expect(await count(only('b'), {})).toEqual({ new: 1 });
    expect(await count(only('b'), { accountId: 'acct-1' })).toEqual({});
    expect(await count(all, { since: '2020-01-01T00:00:00Z' })).toEqual({ new: 2, filled: 2, partially_filled: 1 });
    expect(await count(all, { since: rows[0].at })).toEqual({ filled: 1, partially_filled: 1 });
    expect(await count(all, { stream: 'account' })).toEqual({});
  });
});
