import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AccountScope, OrderFilter, OrderReads } from '../../src/store/orders/order-reads.ts';
import { all, only, readRig } from '../support/orders/read-rig.ts';
import { type StoredOrderSpec, storedOrder } from '../support/orders/stored-orders.ts';
import { rowsRead } from './rows-read.ts';

describe('a single order', () => {
  it('is found in the scope, and is not there outside of it', async () => {
    await using rig = await readRig();
    await rig.store({ orderId: 'o-1', accountId: 'a' });
    const { state } = storedOrder({ orderId: 'o-1', accountId: 'a' }).head;
    const expected = {
      stream: 'prediction',
      orderId: 'o-1',
      accountId: 'a',
      revision: 1,
      sourceVersion: 9_007_199_254_740_993n,
      state,
    };
    expect(await rig.reads.getOrder(only('a', 'b'), 'prediction', 'o-1')).toEqual(expected);
    expect(await rig.reads.getOrder(all, 'prediction', 'o-1')).toEqual(expected);
    for (const scope of [only('b'), only()])
      expect(await rig.reads.getOrder(scope, 'prediction', 'o-1')).toBeUndefined();
    expect(await rig.reads.getOrder(all, 'account', 'o-1')).toBeUndefined();
    expect(await rig.reads.getOrder(all, 'prediction', 'o\0-1')).toBeUndefined();
  });

  it('asked for with many others in one turn is one query for each scope', async () => {
    await using rig = await readRig();
    await rig.store(...Array.from({ length: 40 }, (_, i) => ({ orderId: `o-${i}`, accountId: i % 2 ? 'a' : 'b' })));
    const asked = Array.from({ length: 80 }, (_, i) => ({
      scope: i < 40 ? only('a') : only('b'),
      orderId: `o-${i % 40}`,
    }));
    const found = await Promise.all(
      asked.map(({ scope, orderId }) => rig.reads.getOrder(scope, 'prediction', orderId)),
    );
    expect(rig.queries).toHaveLength(2);
    for (const [i, order] of found.entries()) {
      const foreign = i < 40 ? i % 2 === 0 : i % 2 === 1;
      expect(order?.orderId).toBe(foreign ? undefined : asked[i]?.orderId);
    }
  });
});

describe('issue: A page of orders took Postgres twice the processor time that its rows need.', () => {
  it('each prepared read is planned once a session, whatever the estimates say', async () => {
    await using rig = await readRig();
    await rig.store(...Array.from({ length: 60 }, (_, i) => ({ orderId: `o-${i}`, accountId: i % 2 ? 'a' : 'b' })));
    const { reads } = rig;
    const readAll = [
      ...[undefined, true, false].flatMap((open) =>
        (['orderId', '-updatedAt'] as const).flatMap((sort) =>
          [{}, { symbol: 'S' }].map((more) => () => {
            const filter = { ...(open !== undefined && { open }), ...more };
            return reads.listOrders(all, filter, undefined, 50, sort);
          }),
        ),
      ),
      () => reads.listOrders(all, { q: 'o-7' }, undefined, 50),
      () => reads.countOrders(all, {}),
      () => reads.getOrder(all, 'prediction', 'o-7'),
      () => reads.findCommand(all, '00000000-0000-4000-8000-000000000000'),
      () => reads.eventsAfter({ tx: 0n, number: 0n }, 0n, 50),
    ];
    for (const read of readAll) for (let i = 0; i < 7; i += 1) await read();
    const { rows } = await rig.readPool.query(
      'select name, custom_plans::int as anew from pg_prepared_statements order by 1',
    );
    expect(rows.filter(({ anew }) => anew > 0)).toEqual([]);
    const named = new Set(rig.queries.flatMap((asked) => ('name' in asked ? [asked.name] : [])));
    expect(rows.map(({ name }) => name)).toEqual([...named].sort());
    expect(named.size).toBeGreaterThan(10);
  });

  it('a payload that was read before, and is damaged now, is still found out', async () => {
    await using rig = await readRig();
    await rig.store({ orderId: 'o-1' }, { orderId: 'o-2' });
    const read = () => rig.reads.getOrder(all, 'prediction', 'o-1');
    const page = () => rig.reads.listOrders(all, {}, undefined, 50);
    const before = await read();
    expect((await page()).items).toHaveLength(2);
    const spoil = (from: string, to: string) =>
      rig.pool.query("update order_updates set payload = replace(payload, $1, $2) where order_id = 'o-1'", [from, to]);
    await rig.pool.query('alter table order_updates disable trigger user');
    for (let time = 0; time < 2; time += 1) {
      await spoil('"cumQty":', '"cumQty"');
      await expect(read()).rejects.toMatchObject({ code: 'UNREADABLE_ROW' });
      expect(await page()).toMatchObject({ items: [{ orderId: 'o-2' }], unreadable: [{ orderId: 'o-1' }] });
      await spoil('"cumQty"', '"cumQty":');
      expect(await read()).toEqual(before);
    }
  });

  it('an order of another database under the same key is that one', async () => {
    await using one = await readRig();
    await using other = await readRig();
    await one.store({ orderId: 'o-1', symbol: 'A' });
    await other.store({ orderId: 'o-1', symbol: 'B' });
    for (let time = 0; time < 2; time += 1)
      for (const [rig, symbol] of [
        [one, 'A'],
        [other, 'B'],
      ] as const) {
        const { state = '' } = (await rig.reads.getOrder(all, 'prediction', 'o-1')) ?? {};
        expect(state).toBe(storedOrder({ orderId: 'o-1', symbol }).head.state);
      }
  });
});

/**
 * Whatever is asked for: nothing of an account that the scope does
 * not name, and all of those that it does.
 */
async function expectOnlyOf(reads: OrderReads, scope: AccountScope, order: StoredOrderSpec | undefined): Promise<void> {
  const { stream = 'prediction', orderId = '', accountId = '' } = order ?? {};
  const mine = (account: string) => scope.kind === 'all' || scope.accountIds.includes(account);
  expect((await reads.getOrder(scope, stream, orderId)) !== undefined).toBe(mine(accountId));
  expect((await reads.history(scope, stream, orderId, 0, 5))?.length).toBe(mine(accountId) ? 1 : undefined);
  const { updates } = await reads.updatesAfter(scope, 0n, 500);
  const exposure = await reads.exposure(scope, undefined);
  const theirs = [...updates, ...exposure].map((each) => each.accountId);
  expect(theirs.filter((account) => !mine(account))).toEqual([]);
  expect(await reads.exposure(scope, accountId)).toEqual(
    mine(accountId) ? exposure.filter((row) => row.accountId === accountId) : [],
  );
}

describe('pages of orders', () => {
  it('show what the scope and the filter say, in order, without repeats or holes, and nothing else', async () => {
    await using rig = await readRig();
    const accounts = ['a', 'b', 'c', 'd'];
    const statuses = ['new', 'filled', 'partially_filled', 'canceled'];
    const specs = Array.from({ length: 120 }, (_, i) => ({
      ...{ orderId: `o-${(i * 7919) % 120}`, stream: i % 3 === 0 ? ('account' as const) : ('prediction' as const) },
      ...{
        accountId: accounts[(i * 5) % 4] ?? '',
        symbol: i % 10 === 0 ? 'RARE' : 'FED',
        status: statuses[(i >> 2) % 4] ?? '',
      },
    }));
    await rig.store(...specs);
    const accountOf = new Map(specs.map(({ stream, orderId, accountId }) => [`${stream}:${orderId}`, accountId]));
    const optional = <T>(of: fc.Arbitrary<T>) => fc.option(of, { nil: undefined });
    const query = fc.record({
      accountIds: optional(fc.shuffledSubarray([...accounts, 'nobody'])),
      limit: fc.integer({ min: 1, max: 50 }),
      stream: optional(fc.constantFrom('account' as const, 'prediction' as const)),
      accountId: fc.option(fc.constantFrom(...accounts), { nil: undefined, freq: 1 }),
      symbol: optional(fc.constantFrom('RARE', 'FED', 'NONE')),
      status: optional(fc.constantFrom('new' as const, 'filled' as const)),
      open: optional(fc.boolean()),
    });
    await fc.assert(
      fc.asyncProperty(query, async ({ accountIds, limit, ...wanted }) => {
        const scope = accountIds === undefined ? all : only(...accountIds);
        const filter = Object.fromEntries(
          Object.entries(wanted).filter(([, value]) => value !== undefined),
        ) as OrderFilter;
        const isOpen = (status: string) => status === 'new' || status === 'partially_filled';
        const expected = specs
          .filter((spec) => accountIds === undefined || accountIds.includes(spec.accountId))
          .filter((spec) => filter.stream === undefined || spec.stream === filter.stream)
          .filter((spec) => filter.accountId === undefined || spec.accountId === filter.accountId)
          .filter((spec) => filter.symbol === undefined || spec.symbol === filter.symbol)
          .filter((spec) => filter.status === undefined || spec.status === filter.status)
          .filter((spec) => filter.open === undefined || isOpen(spec.status) === filter.open)
          .map((spec) => `${spec.stream}:${spec.orderId}`);
        const ids = await rig.ids(scope, filter, limit);
        expect([...ids].sort()).toEqual(expected.sort());
        const { rows } = await rig.pool.query(
          'select id from unnest($1::text[], $3::text[]) as u(id, account) order by account, split_part(id, $2, 1), split_part(id, $2, 2)',
          [ids, ':', ids.map((id) => accountOf.get(id))],
        );
        expect(ids).toEqual(rows.map((row) => row.id));
        await expectOnlyOf(rig.reads, scope, specs[limit] ?? specs[0]);
      }),
      { numRuns: 60 },
    );
  });

  it('find an order by its symbol, in whatever spelling the platform showed it', async () => {
    await using rig = await readRig();
    const spelled = ['AAPL261218C00200000', 'AAPL  261218C00200000', 'O:AAPL261218C00200000', 'aapl 261218c00200000'];
    const specs = spelled.map((symbol, at) => ({
      orderId: `o-${at}`,
      stream: 'account' as const,
      accountId: 'a',
      symbol,
    }));
    await rig.store(...specs, { ...specs[0], orderId: 'other', symbol: 'AAPL1261218C00200000' });
    const found = await rig.ids(all, { symbol: 'AAPL261218C00200000' }, 50);
    expect(found).toEqual(['account:o-0', 'account:o-1', 'account:o-2', 'account:o-3']);
    expect(await rig.ids(all, { symbol: 'AAPL1261218C00200000' }, 50)).toEqual(['account:other']);
  });

  it('of a symbol that is rare look at so many orders at a time, and go on where they stopped', async () => {
    await using rig = await readRig();
    for (const part of [0, 1, 2]) {
      await rig.store(
        ...Array.from({ length: 1_500 }, (_, i) => ({
          orderId: `${part}-${String(i).padStart(4, '0')}`,
          symbol: part === 2 && i === 1_499 ? 'RARE' : 'FED',
        })),
      );
    }
    const first = await rig.reads.listOrders(only('acct-1'), { symbol: 'RARE' }, undefined, 50);
    expect(first).toEqual({ items: [], next: ['acct-1', 'prediction', '1-0499'] });
    expect(await rig.ids(all, { symbol: 'RARE' }, 50)).toEqual(['prediction:2-1499']);
  });

  it('that are equal and asked for in one turn are one query, and a failure is told to those who asked for that page', async () => {
    await using rig = await readRig();
    await rig.store({ orderId: 'o-1' });
    const page = () => rig.reads.listOrders(only('acct-1'), {}, undefined, 50);
    const pages = await Promise.all([page(), page(), page()]);
    expect(rig.queries).toHaveLength(1);
    expect(pages.map(({ items }) => items.length)).toEqual([1, 1, 1]);
    const [bad, good] = await Promise.allSettled([rig.reads.listOrders(only('a\0'), {}, undefined, 50), page()]);
    expect([bad?.status, good?.status]).toEqual(['rejected', 'fulfilled']);
  });

  it('read no more than they show, of 200,000 orders and before the table was ever analysed', async () => {
    await using rig = await readRig();
    await rig.pool.query('alter table orders set (autovacuum_enabled = off)');
    // In parts, each within the deadline of a statement.
    for (let from = 0; from < 200_000; from += 10_000) {
      await rig.pool.query(
        `insert into orders (stream, order_id, lane, account_id, symbol, status, revision, state, join_state)
         select case when i % 2 = 0 then 'account' else 'prediction' end, 'o-' || i, 0, 'acct-' || i % 200, 'S',
           case when i % 50 = 0 then 'new' else 'filled' end, 1, '{}', '{}'
         from generate_series($1::int + 1, $1 + 10000) i`,
        [from],
      );
    }
    const scopes = [all, only('acct-7'), only(...Array.from({ length: 20 }, (_, i) => `acct-${i}`))];
    const filters: OrderFilter[] = [
      {},
      { open: true },
      { open: false },
      { stream: 'account' },
      { accountId: 'acct-7' },
    ];
    for (const scope of scopes) {
      for (const filter of filters) {
        for (const after of [undefined, ['acct-17', 'account', 'o-5'], ['acct-7', 'prediction', 'o-7']]) {
          const first = rig.queries.length;
          const { items } = await rig.reads.listOrders(scope, filter, after, 50);
          const asked = rig.queries.slice(first);
          expect(asked).toHaveLength(1);
          // Of the last account each run reads a page at most; each order shown is read twice, and
          // an account may have as little as one.
          const read = await rowsRead(rig.readPool, asked[0] ?? { text: '', values: [] });
          expect(read, JSON.stringify({ scope, filter, after, shown: items.length })).toBeLessThanOrEqual(
            4 * 51 + 3 * 51,
          );
        }
      }
    }
  });
});
