import { describe, expect, it } from 'vitest';
import { parseVersion } from '../../src/domain/order.ts';

describe('parseVersion', () => {
  it.each(['0', '1', '9007199254740992', '9007199254740993', '9223372036854775807'])(
    'takes %s, digit for digit',
    (digits) => {
      expect(parseVersion(digits)?.toString()).toBe(digits);
    },
  );

  it.each([
    '9223372036854775808',
    '18446744073709551616',
    '1'.repeat(1000),
    '-1',
    '-0',
    '+1',
    '01',
    '1.0',
    '1e3',
    '0x10',
    '1n',
    '1_000',
    ' 1',
    '1\n',
    '',
    'null',
    'NaN',
    '１',
  ])('refuses %j', (digits) => {
    expect(parseVersion(digits)).toBeUndefined();
  });
});
