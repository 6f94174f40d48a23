// What a user saw: The stored bytes of an order depended on the moment at which a process had restarted.

import { expect, it } from 'vitest';
import type { Instrument, OrderView } from '../../../src/domain/order.ts';
import { fold, observe } from '../../support/orders/observe.ts';

const equity: Instrument = { kind: 'equity', symbol: 'AAPL' };
const option: Instrument = {
  kind: 'option',
  symbol: 'AAPL',
  legs: [{ symbol: 'AAPL  261218C00200000', side: 'buy', ratioQty: '1' }],
};

const view = (instrument: Instrument, cumQty: string, updatedAt: string, avgPrice?: string): OrderView => ({
  stream: 'account',
  orderId: 'ord-1',
  accountId: 'acct-1',
  instrument,
  side: 'buy',
  orderType: 'limit',
  timeInForce: 'day',
  status: 'new',
  statusRaw: 'NEW',
  certainty: 'certain',
  pendingAction: 'none',
  quantity: '10',
  working: { quantity: '10' },
  cumQty,
  leavesQty: '5',
  updatedAt,
  ...(avgPrice !== undefined && { avgPrice }),
});

it('remembers nothing beside an order whose legs the newest view tells, wherever the order was stored meanwhile', () => {
  const views = [
    view(equity, '5', '2026-11-21T12:00:01.000Z', '1.4'),
    view(option, '0', '2026-11-21T12:00:00Z'),
    view(option, '5', '2026-11-21T12:00:01.000Z'),
  ].map((each) => observe(each));
  expect(fold(views, new Set([1])).head).toEqual(fold(views).head);
});
