import { describe, expect, it } from 'vitest';
import { Repairs } from '../../../src/service/sources/repairs.ts';
import { equityView } from '../../support/orders/arbitrary-orders.ts';
import { observe } from '../../support/orders/observe.ts';

const seen = (orderId: string) => observe({ ...equityView, orderId });

describe('the orders that a read repaired', () => {
  it('are counted once each, whatever else the read found, and forgotten with the mark', () => {
    const repairs = new Repairs();
    const one = seen('ord-1');
    repairs.note(one, 'applied');
    repairs.note(one, 'applied');
    repairs.note(seen('ord-2'), 'duplicate');
    expect(repairs.take(2)).toEqual({ ordersRead: 2, ordersRepaired: 1, repairedOrderIds: ['ord-1'] });
    expect(repairs.take(2)).toEqual({ ordersRead: 2, ordersRepaired: 0, repairedOrderIds: [] });
  });

  it('are all counted and the first hundred named, however many there are', () => {
    const repairs = new Repairs();
    for (let i = 0; i < 12_000; i += 1) repairs.note(seen(`ord-${i}`), 'applied');
    const extent = repairs.take(20_000);
    expect([extent.ordersRepaired, extent.repairedOrderIds.length, extent.repairedOrderIds[99]]).toEqual([
      12_000,
      100,
      'ord-99',
    ]);
  });
});
