import { describe, expect, it } from 'vitest';
import { normalisedOrder } from '../../src/contract/normalised-order.ts';
import type { Order } from '../../src/domain/order.ts';
import { changedFields, contradictedFields } from '../../src/domain/order-fields.ts';
import { equityView, instantAt } from '../support/orders/arbitrary-orders.ts';

const order: Order = { ...equityView, origin: 'external' };

/** All that an order has on the wire, but its key and what is carried as it came. */
const compared = Object.keys(normalisedOrder.shape).filter((name) => !['stream', 'orderId', 'extra'].includes(name));

describe('changed fields', () => {
  it('are named at the top level, in the order of the normalised order', () => {
    expect(
      changedFields(order, { ...order, updatedAt: instantAt(1), working: { quantity: '9' }, status: 'filled' }),
    ).toEqual(['status', 'working', 'updatedAt']);
  });

  it.each(compared)('name %s', (field) => {
    expect(changedFields(order, { ...order, [field]: 'other' })).toEqual([field]);
  });

  it('include what appeared and what went', () => {
    const { price: _price, ...unpriced } = order;
    expect(changedFields(order, { ...unpriced, rejectText: 'no' })).toEqual(['price', 'rejectText']);
  });

  it('are compared by value: instants in two forms, equal terms and instruments in other objects, and never extra', () => {
    const same = {
      ...order,
      updatedAt: instantAt(0, 'offset'),
      working: { ...order.working },
      instrument: { ...order.instrument },
      extra: { any: 1 },
    };
    expect(changedFields(order, same)).toEqual([]);
  });

  it('are all that is present on a first revision, but the key and extra', () => {
    const first = changedFields(undefined, { ...order, extra: { any: 1 } });
    expect(first).toContain('origin');
    expect(first).not.toContain('orderId');
    expect(first).not.toContain('extra');
    expect(first).not.toContain('avgPrice');
  });
});

describe('contradicted fields', () => {
  it('are those that both have', () => {
    const { price: _price, ...unpriced } = order;
    expect(contradictedFields(order, { ...unpriced, rejectText: 'no', working: { quantity: '10' } })).toEqual([]);
    expect(contradictedFields(order, { ...order, price: '1', working: { quantity: '9' } })).toEqual([
      'price',
      'working',
    ]);
  });
});
