// What a user saw: An average price with forty digits was shown as 100, without its last digits.

import { Decimal } from 'decimal.js';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseJson, parsePlainJson } from '../../../src/venue/platform/parse-json.ts';

const digits = (minLength: number, maxLength: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789'), minLength, maxLength });

/**
 * A whole part that a double has, zeros, and digits that no double has
 * behind it; as averages of forty digits are.
 */
const number = fc
  .tuple(fc.boolean(), fc.nat({ max: 1_000_000 }), fc.nat({ max: 30 }), digits(0, 12))
  .map(([minus, whole, zeros, tail]) => `${minus ? '-' : ''}${whole}.${'0'.repeat(zeros)}${tail}7`);

/**
 * A platform that writes decimals as JSON numbers sent 100.000…7. Its double is 100,
 * which is whole, and so it passed for a number that nothing is lost of: another
 * average than the same order had as a text.
 */
it.each([parseJson, parsePlainJson])('a JSON number keeps every digit: %o', (parse) => {
  fc.assert(
    fc.property(number, (text) => {
      const { avgPrice } = parse(`{"avgPrice":${text}}`) as { avgPrice: number | string };
      expect(new Decimal(avgPrice).equals(new Decimal(text))).toBe(true);
    }),
    { numRuns: 500, examples: [['100.00000000000000000000000000000000000007']] },
  );
});
