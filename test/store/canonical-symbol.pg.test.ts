import fc from 'fast-check';
import { expect, it } from 'vitest';
import { canonicalSymbol, optionRoot, symbolLetters } from '../../src/domain/symbol.ts';
import { freshDatabase } from '../support/servers/database.ts';
import { onServer } from '../support/servers/on-server.ts';

const root = fc.string({ unit: fc.constantFrom(...'AbZ1.:-^ O'), maxLength: 7 });
const tail = fc.constantFrom('261218C00200000', '261218p00200000', '26121C00200000', '');
// Each character of ASCII, alone and within.
const signs = Array.from({ length: 95 }, (_, at) => String.fromCodePoint(32 + at)).flatMap((sign) => [
  sign,
  `A${sign}1`,
]);
const symbols = fc
  .tuple(fc.constantFrom('', ' ', 'O:', 'o:'), root, fc.constantFrom('', ' ', '  '), tail, fc.constantFrom('', ' '))
  .map((parts) => parts.join(''));

it('canonical_symbol, underlying_symbol and symbol_letters are canonicalSymbol, its root and its letters, for every spelling', async () => {
  const texts = [
    'AAPL  261218C00200000',
    'googl1261218c00200000',
    'BRK.B',
    ' spx ',
    'BRK/B É',
    ...signs,
    ...fc.sample(symbols, 2_000),
  ];
  await using database = await freshDatabase();
  const { rows } = await onServer(database.url, (client) =>
    client.query<{ canonical: string; underlying: string; letters: string }>(
      `select public.canonical_symbol(t.symbol) as canonical, public.underlying_symbol(t.symbol) as underlying, public.symbol_letters(t.symbol) as letters
       from unnest($1::text[]) with ordinality as t(symbol, at) order by t.at`,
      [texts],
    ),
  );
  const expected = texts.map(canonicalSymbol);
  expect(rows.map(({ canonical }) => canonical)).toEqual(expected);
  expect(rows.map(({ letters }) => letters)).toEqual(texts.map(symbolLetters));
  expect(rows.map(({ underlying }) => underlying)).toEqual(expected.map((symbol) => optionRoot(symbol) ?? symbol));
});
