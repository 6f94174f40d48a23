import { describe, expect, it } from 'vitest';
import {
  addDecimals,
  compareDecimals,
  divideDecimals,
  multiplyDecimals,
  parseDecimal,
  subtractDecimals,
} from '../../src/domain/decimal.ts';

describe('parseDecimal', () => {
  it.each([
    ['0', '0'],
    ['7', '7'],
    ['-7', '-7'],
    ['1.5', '1.5'],
    ['1.50', '1.5'],
    ['100', '100'],
    ['100.000', '100'],
    ['0.0', '0'],
    ['0.020', '0.02'],
    ['-0.5', '-0.5'],
    ['999999999999999', '999999999999999'],
    ['999999999999999999', '999999999999999999'],
    ['123456789012345678.123456789012', '123456789012345678.123456789012'],
    [`${'9'.repeat(40)}.${'9'.repeat(40)}`, `${'9'.repeat(40)}.${'9'.repeat(40)}`],
    ['1.00000000000000000000', '1'],
    ['-1.25000', '-1.25'],
  ])('takes %s as %s', (text, canonical) => {
    expect(parseDecimal(text)).toBe(canonical);
  });

  it.each([
    '',
    ' ',
    ' 1',
    '1 ',
    '1\n',
    '+1',
    '01',
    '00',
    '-01',
    '.5',
    '1.',
    '-',
    '--1',
    '-0',
    '-0.00',
    '1e3',
    '1e999999999',
    '1e-400',
    '1E5',
    'NaN',
    'Infinity',
    '-Infinity',
    '0x10',
    '1_000',
    '1,5',
    '1.2.3',
    '１２',
    '١',
    '1'.repeat(41),
    `0.${'1'.repeat(41)}`,
    `1.${'0'.repeat(41)}`,
    '1'.repeat(100_000),
  ])('refuses %j', (text) => {
    expect(parseDecimal(text)).toBeUndefined();
  });

  it.each([[5], [1.5], [null], [undefined], [true], [5n], [{}], [['1']]])('refuses %s, which is not text', (value) => {
    expect(parseDecimal(value)).toBeUndefined();
  });
});

describe('decimal arithmetic', () => {
  it.each([
    ['1', '1', 0],
    ['1', '2', -1],
    ['10', '9', 1],
    ['0.5', '0.49', 1],
    ['0.5', '0.50001', -1],
    ['1.000000000001', '1', 1],
    ['-1', '1', -1],
    ['-2', '-1', -1],
    ['-0.5', '0', -1],
    ['9007199254740993', '9007199254740992', 1],
    ['123456789012345678.1', '123456789012345678.2', -1],
  ] as const)('orders %s and %s', (a, b, order) => {
    expect(compareDecimals(a, b)).toBe(order);
    expect(compareDecimals(b, a)).toBe(order === 0 ? 0 : -order);
  });

  it('is exact where floats are not', () => {
    expect(addDecimals('0.1', '0.2')).toBe('0.3');
    expect(subtractDecimals('0.3', '0.1')).toBe('0.2');
    expect(multiplyDecimals('123456789012345678.123456789012', '2')).toBe('246913578024691356.246913578024');
    expect(subtractDecimals('999999999999999999.999999999999', '999999999999999999.999999999998')).toBe(
      '0.000000000001',
    );
    expect(multiplyDecimals('9'.repeat(40), `0.${'9'.repeat(40)}`)).toBe(`${'9'.repeat(39)}8.${'0'.repeat(39)}1`);
  });

  it('cuts a quotient after 12 digits, or as many as an operand has, and never rounds up', () => {
    expect(divideDecimals('0.00000000000000000002', '3')).toBe('0');
    expect(divideDecimals('0.20000000000000000002', '3')).toBe('0.06666666666666666667');
    expect(divideDecimals('2', '3')).toBe('0.666666666666');
    expect(divideDecimals('-2', '3')).toBe('-0.666666666666');
    expect(divideDecimals('-1', '9999999999999999')).toBe('0');
    expect(divideDecimals('1', '0')).toBeUndefined();
  });
});
