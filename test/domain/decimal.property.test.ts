import { Decimal as Exact } from 'decimal.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  addDecimals,
  compareDecimals,
  divideDecimals,
  multiplyDecimals,
  parseDecimal,
  subtractDecimals,
} from '../../src/domain/decimal.ts';

const Oracle = Exact.clone({ precision: 300, rounding: Exact.ROUND_DOWN, toExpNeg: -300, toExpPos: 300 });

/**
 * Text as a source may write it: any sign, any number of digits within the limits, trailing zeros.
 */
const written = fc
  .tuple(fc.boolean(), fc.bigInt({ min: 0n, max: 10n ** 40n - 1n }), fc.stringMatching(/^[0-9]{0,40}$/), fc.nat(40))
  .map(([negative, digits, fraction, size]) => {
    const integer = (digits % 10n ** BigInt(size)).toString();
    return `${negative ? '-' : ''}${integer}${fraction === '' ? '' : `.${fraction}`}`;
  });
const decimals = written.map(parseDecimal).filter((decimal) => decimal !== undefined);

describe('decimals', () => {
  it('have one canonical text for each value, which parses to itself', () => {
    fc.assert(
      fc.property(written, (text) => {
        const canonical = parseDecimal(text);
        if (canonical === undefined) {
          expect(text).toMatch(/^-0(\.0*)?$/);
        } else {
          expect(canonical).toBe(new Oracle(text).toFixed());
          expect(parseDecimal(canonical)).toBe(canonical);
        }
      }),
      { numRuns: 5_000 },
    );
  });

  it('compare, add, subtract, multiply and divide as exact arithmetic does', () => {
    const plain = (value: Exact) => value.toFixed().replace(/^-0$/, '0');
    fc.assert(
      fc.property(decimals, decimals, (a, b) => {
        const [x, y] = [new Oracle(a), new Oracle(b)];
        expect(compareDecimals(a, b)).toBe(x.comparedTo(y));
        expect(addDecimals(a, b)).toBe(plain(x.plus(y)));
        expect(subtractDecimals(a, b)).toBe(plain(x.minus(y)));
        expect(multiplyDecimals(a, b)).toBe(plain(x.times(y)));
        if (b !== '0')
          expect(divideDecimals(a, b)).toBe(
            plain(x.dividedBy(y).toDecimalPlaces(Math.max(12, x.decimalPlaces(), y.decimalPlaces()))),
          );
      }),
      { numRuns: 5_000 },
    );
  });

  it('are never made from other text', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const decimal = parseDecimal(text);
        if (decimal !== undefined) expect(text).toMatch(/^-?\d+(\.\d+)?$/);
      }),
    );
  });
});
