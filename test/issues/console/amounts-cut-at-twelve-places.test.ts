// What a user saw: The console sorted amounts with more than 12 places wrongly, and cut their sums.

import { Decimal } from 'decimal.js';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { addDecimals, compareDecimals, thousandthsOf } from '../../../src/console/state/text/decimal-text.ts';

const Exact = Decimal.clone({ precision: 200, toExpNeg: -200, toExpPos: 200 });
const digits = (minLength: number, maxLength: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789'), minLength, maxLength });
/** As the service sends them: up to 40 digits on each side. */
const amount = fc
  .tuple(fc.boolean(), digits(1, 40), digits(0, 40))
  .map(([minus, whole, fraction]) =>
    new Exact(`${minus ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`)
      .plus(0)
      .toFixed()
      .replace(/^-0$/, '0'),
  );

it('amounts of 40 and 40 digits are compared and added up exactly', () => {
  fc.assert(
    fc.property(amount, amount, (a, b) => {
      expect(compareDecimals(a, b)).toBe(new Exact(a).comparedTo(b));
      expect(addDecimals(a, b)).toBe(new Exact(a).plus(b).toFixed().replace(/^-0$/, '0'));
    }),
    {
      examples: [
        ['1.0000000000001', '1'],
        ['9'.repeat(40), '1'],
      ],
    },
  );
});

it('the sum of two of the greatest can be added to once more', () => {
  const most = '9'.repeat(40);
  expect(addDecimals(addDecimals(most, most) ?? '', most)).toBe(new Exact(most).times(3).toFixed());
});

it('a part below a millionth of a millionth is not nothing', () => {
  const least = `0.${'0'.repeat(39)}1`;
  expect([thousandthsOf(least, '1'), thousandthsOf(least, least), thousandthsOf('0', least)]).toEqual([1, 1000, 0]);
});
