// What a user saw: A fill that the venue made at 0.6 was shown with the price 0.599999999997.

import { describe, expect, it } from 'vitest';
import { averageOfRest } from '../../../src/domain/decimal.ts';

/**
 * Seen in the first demo: fills that the venue made at 0.6 were shown at 0.599999999997, because
 * averages come rounded to 12 digits.
 */
describe('the price of a fill between two rounded averages', () => {
  it('is the price that was paid, not the rounding error', () => {
    expect(averageOfRest({ quantity: '3', average: '0.333333333333' }, { quantity: '2', average: '0.25' })).toBe('0.5');
    expect(
      averageOfRest({ quantity: '7', average: '118.557142857142' }, { quantity: '6', average: '118.533333333333' }),
    ).toBe('118.7');
  });

  it('stays exact where no average was rounded', () => {
    expect(averageOfRest({ quantity: '10', average: '1.23456789' }, { quantity: '4', average: '1.2' })).toBe(
      '1.25761315',
    );
  });
});
