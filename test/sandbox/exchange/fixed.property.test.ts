import { Decimal } from 'decimal.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { averagePrice, formatFixed, parseFixed } from '../../../src/sandbox/exchange/wire-text.ts';

const Exact = Decimal.clone({ precision: 60, rounding: Decimal.ROUND_DOWN, toExpPos: 100, toExpNeg: -100 });
const units = fc.bigInt({ min: 0n, max: 10n ** 30n - 1n });

describe('fixed-point decimals', () => {
  it('come back from their text, whatever they are', () => {
    fc.assert(fc.property(units, (value) => parseFixed(formatFixed(value)) === value));
  });

  it('show the canonical text that decimal.js shows', () => {
    fc.assert(fc.property(units, (value) => formatFixed(value) === new Exact(value.toString()).div('1e12').toFixed()));
  });

  it('average as decimal.js does, cut to 12 digits', () => {
    const positive = fc.bigInt({ min: 1n, max: 10n ** 24n });
    fc.assert(
      fc.property(positive, positive, positive, (first, second, quantity) => {
        const exact = new Exact((first * second).toString()).div(quantity.toString()).floor();
        return averagePrice(first * second, quantity).toString() === exact.toFixed();
      }),
    );
  });

  it.each([
    '',
    '-1',
    '+1',
    '01',
    '.5',
    '1.',
    '1e3',
    '0x10',
    ' 1',
    '1_000',
    '１',
    '1.0000000000001',
    '1234567890123456789',
  ])('refuse %j', (text) => {
    expect(parseFixed(text)).toBeUndefined();
  });
});
