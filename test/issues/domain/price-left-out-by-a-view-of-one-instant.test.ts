// What a user saw: An order had no price for good, since one view of the same instant had left it out.

import { describe, expect, it } from 'vitest';
import type { Observation } from '../../../src/domain/observation.ts';
import type { Leg, OrderView } from '../../../src/domain/order.ts';
import { reduce } from '../../../src/domain/reduce.ts';
import { equityView } from '../../support/orders/arbitrary-orders.ts';

const limit: OrderView = {
  ...{ ...equityView, orderType: 'stop_limit', price: '187.5', stopPrice: '190' },
  working: { quantity: equityView.quantity, price: '187.5', orderType: 'stop_limit' },
};
const { price: _price, stopPrice: _stop, ...bare } = limit;
const without: OrderView = { ...bare, working: { quantity: limit.quantity, orderType: 'stop_limit' } };

function seen(view: OrderView, over: Partial<Observation> = {}): Observation {
  return { kind: 'order', cause: 'snapshot', view, sourceEpoch: 0, observedAtMs: 0, receivedMs: 0, bytes: 1, ...over };
}

function reduced(...observations: readonly Observation[]) {
  let head: Parameters<typeof reduce>[0];
  const doubts: (string | undefined)[] = [];
  for (const observation of observations) {
    const reduction = reduce(head, observation);
    if ('head' in reduction) ({ head } = reduction);
    doubts.push('doubt' in reduction ? reduction.doubt : undefined);
  }
  return { order: head?.order, doubts };
}

describe('of two views of one instant', () => {
  it('the one that leaves a price out does not deny it, in both orders of arrival', () => {
    for (const views of [
      [limit, without],
      [without, limit],
    ])
      expect(reduced(...views.map((view) => seen(view))).order).toMatchObject({
        ...{ price: '187.5', stopPrice: '190', working: { price: '187.5' } },
      });
  });

  it.each([
    ['timeInForce', {}],
    ['side', {}],
    ['orderType', { working: { ...limit.working, orderType: 'unknown' } }],
  ] as const)('the one that leaves its %s out does not deny it, and is no doubt', (name, more) => {
    const view: OrderView = { ...limit, [name]: 'unknown', ...more };
    for (const views of [
      [limit, view],
      [view, limit],
    ]) {
      const { order, doubts } = reduced(...views.map((each) => seen(each)));
      expect(order?.[name]).toBe(limit[name]);
      expect(doubts).toEqual([undefined, undefined]);
    }
  });

  it('another position effect of a leg leaves a doubt, and the read that shows it decides', () => {
    const leg = { symbol: 'AAPL261218C00200000', side: 'buy', ratioQty: '1' };
    const option = (positionEffect?: string): OrderView => {
      const legs: Leg[] = [{ ...leg, ...(positionEffect !== undefined && { positionEffect }) }];
      return { ...limit, instrument: { kind: 'option', symbol: 'AAPL', legs } };
    };
    for (const [first, right] of [
      ['open', 'close'],
      ['close', 'open'],
    ] as const) {
      const read = seen(option(right), { correction: true });
      const { order, doubts } = reduced(seen(option(first)), seen(option(right)), read);
      expect(doubts[1]).toBe('same_instant');
      expect(order?.instrument.legs).toMatchObject([{ positionEffect: right }]);
    }
    // A list that leaves it out is no other order.
    const { doubts } = reduced(seen(option('open')), seen(option()));
    expect(doubts).toEqual([undefined, undefined]);
  });
});
