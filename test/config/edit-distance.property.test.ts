import fc from 'fast-check';
import { expect, it } from 'vitest';
import { editDistance } from '../../src/config/check-names.ts';

const word = fc.string({ unit: fc.constantFrom('A', 'B', '_'), maxLength: 8 });

it('is 0 for the same word only, the same both ways, and never more than the longer word', () => {
  fc.assert(
    fc.property(word, word, (a, b) => {
      const distance = editDistance(a, b);
      expect(distance === 0).toBe(a === b);
      expect(editDistance(b, a)).toBe(distance);
      expect(distance).toBeLessThanOrEqual(Math.max(a.length, b.length));
    }),
  );
});

it('counts two letters that changed places as one slip', () => {
  expect(editDistance('PROT', 'PORT')).toBe(1);
  expect(editDistance('ACOUNTS', 'ACCOUNTS')).toBe(1);
});
