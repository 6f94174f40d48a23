import { randomBytes } from 'node:crypto';
import { describe, expect, inject, it } from 'vitest';
import type { Leg } from '../../../src/domain/order.ts';
import { canonicalSymbol, namesInstrument, symbolLetters } from '../../../src/domain/symbol.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { migrate } from '../../../src/store/migrate.ts';
import type { AccountScope, CommandFilter, OrderFilter } from '../../../src/store/orders/order-reads.ts';
import { newPlace, unknown } from '../../support/commands/journal-fixtures.ts';
import { manyCommands } from '../../support/commands/many-commands.ts';
import { all, only, readRig } from '../../support/orders/read-rig.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import type { TestDatabase } from '../../support/servers/database.ts';
import { onServer, withDatabase } from '../../support/servers/on-server.ts';
import { rowsRead } from '../rows-read.ts';

describe('issue: A list of commands by a rare kind took minutes, and read every command there was.', () => {
  const total = 12_000;

  /** The oldest one is the only replace, and the only one that moot ended. */
  const commands =
    manyCommands(`select ('00000000-0000-4000-8000-' || lpad(i::text, 12, '0'))::uuid as command_id, 'desk' as principal, 'k-' || i as idempotency_key,
    case when i = 1 then 'replace' else 'place' end as kind, 'prediction' as stream, case when i <= 3 then 'quiet' else 'acct-' || i % 3 end as account_id,
    'S' as symbol, 'buy' as side,
    '{"kind":"place","stream":"prediction","accountId":"a","terms":{"symbol":"S","outcome":"YES","side":"buy","orderType":"market","quantity":"1"}}'::json as request,
    null::text as caller_ref, case when i = 1 then 'moot' when i = 2 then 'unknown' else 'applied' end as state, 'o-' || i as order_id,
    timestamptz '2026-11-21' + i * interval '1 second' as created_at
  from generate_series(1, $1::int) i`);

  /** More than it may look at, with some rows that are shown. */
  const mostRead = 2_200;

  it('a page by a rare kind or result looks at so many commands, and the next ones go on to the end', async () => {
    await using rig = await readRig();
    await rig.pool.query('alter table journal set (autovacuum_enabled = off), disable trigger user');
    await rig.pool.query(commands, [total]);
    const filters: readonly (readonly [filter: CommandFilter, found: number])[] = [
      [{ kind: 'replace' }, 1],
      [{ state: 'moot' }, 1],
      [{ kind: 'cancel' }, 0],
      [{ state: 'rejected', unresolved: false }, 0],
      [{ state: 'unknown' }, 1],
      [{ unresolved: true }, 1],
      [{ accountId: 'quiet' }, 3],
      [{ accountId: 'quiet', kind: 'replace' }, 1],
      [{ callerRef: 'no-one-has-it', kind: 'cancel' }, 0],
    ];
    for (const scope of [all, only('quiet', 'acct-1')])
      for (const [filter, found] of filters) {
        const keys: string[] = [];
        let after: readonly string[] | undefined;
        let pages = 0;
        do {
          const first = rig.queries.length;
          const page = await rig.reads.listCommands(scope, filter, after, 50);
          for (const asked of rig.queries.slice(first))
            expect(await rowsRead(rig.readPool, asked, 'journal'), JSON.stringify({ filter })).toBeLessThan(
              mostRead * 2,
            );
          keys.push(...page.items.map(({ idempotencyKey }) => idempotencyKey));
          after = page.next;
          pages += 1;
        } while (after !== undefined && pages < 20);
        expect(after).toBeUndefined();
        expect(keys, JSON.stringify({ filter })).toHaveLength(found);
        expect(new Set(keys).size).toBe(found);
      }
  });
});

describe('issue: The console took minutes to load the open orders of 2,000 accounts.', () => {
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
});

describe('issue: A list of REST by BRK/B did not show the orders of BRK.B, nor an option by its contract.', () => {
  const contract = 'AAPL261218C00200000';
  const leg = (symbol: string): Leg => ({ symbol, side: 'buy', ratioQty: '1', positionEffect: 'open' }) as Leg;

  const instruments = [
    { symbol: 'BRK.B' },
    { symbol: 'BRK/B' },
    { symbol: 'BRK.A' },
    { symbol: 'AAPL' },
    { symbol: 'AAPL', legs: [leg(contract)] },
    { symbol: 'AAPL', legs: [leg('AAPL261218C00210000'), leg('AAPL  261218C00200000')] },
    { symbol: contract },
  ];

  const searched = [
    'BRK/B',
    'brk.b',
    'BRK B',
    'BRKB',
    contract,
    `O:${contract}`,
    'aapl  261218c00200000',
    'AAPL',
    '---',
  ];

  it.each(['orderId', '-updatedAt'] as const)(
    'the list by %s finds what the rule of the console names',
    async (sort) => {
      await using rig = await readRig();
      await rig.store(
        ...instruments.map(({ symbol, legs }, at) => ({
          ...{ orderId: `o-${at}`, stream: 'account' as const, accountId: 'A', symbol },
          ...(legs !== undefined && { legs }),
        })),
      );
      for (const symbol of searched) {
        const wanted = instruments.flatMap((each, at) => (namesInstrument(symbol, each) ? [`account:o-${at}`] : []));
        for (const scope of [all, only('A')])
          expect((await rig.ids(scope, { symbol }, 50, sort)).toSorted(), symbol).toEqual(wanted);
      }
      expect((await rig.ids(all, { symbol: 'BRK/B' }, 50, sort)).toSorted()).toEqual(['account:o-0', 'account:o-1']);
      expect((await rig.ids(all, { symbol: contract }, 50, sort)).toSorted()).toEqual(
        [4, 5, 6].map((at) => `account:o-${at}`),
      );
      // The keys of a page come from an index (a scan of the table throws), and each row is read
      // for its own key and for the state alone.
      for (const asked of rig.queries.filter(({ text }) => text.includes('symbol_letters')))
        expect(await rowsRead(rig.readPool, asked)).toBeLessThanOrEqual(3 * instruments.length);
    },
    60_000,
  );
});

describe('issue: In a database with the Turkish sort order no search found an order with an I in its name.', () => {
  const words = "template template0 encoding 'UTF8' locale_provider icu icu_locale 'tr-TR' locale 'C'";

  async function turkishDatabase(): Promise<TestDatabase> {
    const server = inject('postgresUrl');
    const name = `t_${randomBytes(8).toString('hex')}`;
    await onServer(server, (client) => client.query(`create database ${name} ${words}`));
    const url = withDatabase(server, name);
    await migrate({ url, log: silentLog, clock: systemClock });
    const drop = () =>
      onServer(server, async (client) => void (await client.query(`drop database ${name} with (force)`)));
    return { name, url, drop, [Symbol.asyncDispose]: drop };
  }

  it('symbols have the one form that they have everywhere, and orders are found in any case', async () => {
    await using rig = await readRig({ database: await turkishDatabase() });
    const [turkish] = await rig.rows<{ upper: string }>("select upper('i') as upper");
    expect(turkish?.upper).toBe('İ');

    const symbols = ['spxi', 'AiIi', 'brk.i', 'iiii  261218c00200000', 'o:ibm261218p00200000'];
    const rows = await rig.rows<{ canonical: string; letters: string }>(
      `select public.canonical_symbol(t.symbol) as canonical, public.symbol_letters(t.symbol) as letters
     from unnest($1::text[]) with ordinality as t(symbol, at) order by t.at`,
      [symbols],
    );
    expect(rows.map(({ canonical }) => canonical)).toEqual(symbols.map(canonicalSymbol));
    expect(rows.map(({ letters }) => letters)).toEqual(symbols.map(symbolLetters));

    await rig.store({ orderId: 'ORD-I-1', stream: 'account', accountId: 'A', symbol: 'IBM' });
    for (const q of ['ord-i', 'ORD-I', 'Ord-i']) expect(await rig.ids(all, { q }, 10), q).toEqual(['account:ORD-I-1']);
    expect(await rig.ids(all, { symbol: 'ibm' }, 10)).toEqual(['account:ORD-I-1']);
  });
});

describe('issue: A search for a reference of 200 orders showed 50 of them, as if there were no more.', () => {
  it('each of them is shown, page after page, and others of the reference hide none', async () => {
    await using rig = await readRig();
    const wanted: string[] = [];
    for (let i = 0; i < 7; i += 1) {
      const command = await unknown(rig.journal, newPlace({ callerRef: 'grid-7' }));
      await rig.store({ orderId: `o-${i}`, references: { callerRef: 'grid-7' } });
      await rig.pool.query(
        'insert into order_bindings (stream, order_id, attempt_id, command_id, matches) values ($1, $2, $3, $4, true)',
        ['prediction', `o-${i}`, command.attempts[0]?.attemptId, command.commandId],
      );
      wanted.push(`prediction:o-${i}`);
    }
    const found = async (limit: number) => (await rig.ids(all, { q: 'grid-7' }, limit)).sort();
    expect(await found(50)).toEqual(wanted);
    expect(await found(7)).toEqual(wanted);
    expect(await found(6)).toEqual(wanted);
    expect(await found(2)).toEqual(wanted);
    expect(await rig.ids(only('acct-2'), { q: 'grid-7' }, 2)).toEqual([]);
  });
});
