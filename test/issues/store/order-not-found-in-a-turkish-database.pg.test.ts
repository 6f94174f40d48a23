// What a user saw: In a database with the Turkish sort order no search found an order with an I in its name.

import { randomBytes } from 'node:crypto';
import { expect, inject, it } from 'vitest';
import { canonicalSymbol, symbolLetters } from '../../../src/domain/symbol.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { migrate } from '../../../src/store/migrate.ts';
import { all, readRig } from '../../support/orders/read-rig.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import type { TestDatabase } from '../../support/servers/database.ts';
import { onServer, withDatabase } from '../../support/servers/on-server.ts';

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
