// What a user saw: A replace passed a limit of 100 and the order was bought for 260.

import { describe, expect, it } from 'vitest';
import { measureReplace } from '../../../src/domain/measure-command.ts';
import type { Order } from '../../../src/domain/order.ts';
import { predictionView } from '../../support/orders/arbitrary-orders.ts';

/** 200 at 0.9, of which some are bought. */
const order: Order = {
  ...predictionView,
  quantity: '200',
  price: '0.9',
  working: { quantity: '200', price: '0.9', orderType: 'limit' },
  leavesQty: '200',
  origin: 'external',
};
const half: Order = { ...order, status: 'partially_filled', cumQty: '100', leavesQty: '100', avgPrice: '0.9' };

function measured(of: Order, terms: { quantity?: string; price?: string }) {
  const { orderId, accountId } = of;
  return measureReplace({ kind: 'replace', stream: 'prediction', accountId, orderId, terms }, of);
}

describe('the value of a replace', () => {
  it('has the old terms in it, on which the order works until the venue grants the new ones', () => {
    // All 200 at 0.9, and then 800 at 0.1.
    expect(measured(order, { quantity: '1000', price: '0.1' })).toMatchObject({ notional: '260', exposure: '80' });
  });

  it('has in it what a replace asked that it supersedes, which may still land', () => {
    const { orderId, accountId } = order;
    const of = (terms: object, released: readonly object[]) =>
      measureReplace({ kind: 'replace', stream: 'prediction', accountId, orderId, terms }, order, released);
    // All 1,000 at 0.95 in the end; of that the superseded one counts 720 already.
    expect(of({ price: '0.95' }, [{ quantity: '1000' }])).toMatchObject({
      ...{ quantity: '1000', notional: '950', exposure: '50' },
    });
    expect(of({ quantity: '1000' }, [{ price: '0.95' }])).toMatchObject({ quantity: '1000', notional: '950' });
    expect(of({ price: '0.95', quantity: '300' }, [{ quantity: '1000' }])).toMatchObject({
      ...{ quantity: '300', notional: '285' },
    });
    expect(of({ price: '0.95' }, [{ quantity: '100' }])).toEqual(of({ price: '0.95' }, []));
  });

  it('has what was paid already in it, and not at the new price', () => {
    // 90 were paid; 100 more at 0.9, and 800 at 0.1.
    expect(measured(half, { quantity: '1000', price: '0.1' })).toMatchObject({ notional: '260', exposure: '80' });
    // 90 were paid; the whole rest at the new price is more.
    expect(measured(half, { price: '0.95' })).toMatchObject({ notional: '185', exposure: '5' });
    expect(measured(half, { quantity: '150', price: '0.99' })).not.toHaveProperty('notional');
  });

  it('takes fills without a price at the most that a contract can be worth', () => {
    const { avgPrice: _none, ...unpriced } = half;
    expect(measured(unpriced, { quantity: '300' })).toMatchObject({ notional: '280', exposure: '90' });
  });

  it('is compared with no bound where nothing rises', () => {
    for (const terms of [{ price: '0.1' }, { quantity: '100' }, { quantity: '200', price: '0.9' }]) {
      expect(measured(half, terms)).toMatchObject({ exposure: '0' });
      expect(measured(half, terms)).not.toHaveProperty('notional');
    }
  });

  it('has no bound in a price of an order without a limit: a stop buys at the market', () => {
    const stop: Order = {
      ...order,
      orderType: 'stop',
      stopPrice: '0.5',
      working: { quantity: '200', orderType: 'stop' },
    };
    expect(measured(stop, { quantity: '1000', price: '0.01' })).toMatchObject({ notional: '1000' });
    // One that was touched is a limit order.
    const touched: Order = { ...stop, orderType: 'stop_limit', working: { ...order.working, orderType: 'limit' } };
    expect(measured(touched, { quantity: '300' })).toMatchObject({ notional: '270' });
  });
});
