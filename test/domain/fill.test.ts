import { describe, expect, it } from 'vitest';
import type { Order } from '../../src/domain/order.ts';
import { deriveFill } from '../../src/domain/order-fields.ts';
import { equityView } from '../support/orders/arbitrary-orders.ts';

const order = (cumQty: string, avgPrice?: string): Order => ({
  ...equityView,
  origin: 'external',
  cumQty,
  ...(avgPrice === undefined ? {} : { avgPrice }),
});

describe('a fill', () => {
  it('is what cumQty rose by, in exact decimals', () => {
    expect(deriveFill(order('0.1', '1'), order('0.3', '1'), false)).toEqual({
      quantity: '0.2',
      price: '1',
      inferred: false,
    });
  });

  it('is everything filled so far on an order first seen', () => {
    expect(deriveFill(undefined, order('4', '2.5'), true)).toEqual({ quantity: '4', price: '2.5', inferred: true });
  });

  it('has the price that explains both averages, cut after 12 digits', () => {
    expect(deriveFill(order('3', '1.4'), order('10', '1.45'), true)).toMatchObject({
      quantity: '7',
      price: '1.471428571428',
    });
  });

  it('has no price where an average is missing', () => {
    expect(deriveFill(order('3'), order('10', '1.45'), true)).toEqual({ quantity: '7', inferred: true });
    expect(deriveFill(order('3', '1.4'), order('10'), true)).toEqual({ quantity: '7', inferred: true });
  });

  it('has no price where the averages give nonsense', () => {
    expect(deriveFill(order('9', '2'), order('10', '1'), true)).toEqual({ quantity: '1', inferred: true });
    const most = '9'.repeat(40);
    expect(deriveFill(order('0.000000000001', '1'), order('0.000000000002', most), true)).not.toHaveProperty('price');
  });

  it('may have a negative price, as a spread sold for a credit has', () => {
    expect(deriveFill(order('1', '-1'), order('2', '-1.5'), true)).toMatchObject({ price: '-2' });
  });

  it('is none when cumQty stands still or falls', () => {
    expect(deriveFill(order('3'), order('3'), true)).toBeUndefined();
    expect(deriveFill(order('3'), order('2'), true)).toBeUndefined();
  });
});
