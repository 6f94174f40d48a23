// What a user saw: The sandbox showed old stock orders as filled at 0.5, far from the market price.

import { expect, it } from 'vitest';
import { seedOrders } from '../../../src/sandbox/market/seed-orders.ts';
import { book } from '../../support/platform/book.ts';

it('no order of before the start was filled far from where its instrument stood', () => {
  const { exchange, market, random, clock } = book();
  seedOrders({ exchange, market, random, clock }, { knownOrders: 2000, openOrders: 400 });
  let priced = 0;
  for (const order of exchange.orders.values()) {
    if (order.cumQty === 0n || order.workingPrice !== undefined) continue;
    priced += 1;
    expect(order.notional / order.cumQty, order.terms.symbol).toBe(market.priceOf(order));
  }
  expect(priced).toBeGreaterThan(100);
});
