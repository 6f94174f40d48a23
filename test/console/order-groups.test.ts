import { describe, expect, it } from 'vitest';
import { defaultView } from '../../src/console/state/orders/blotter-view.ts';
import { type GroupPart, groupText, isGroup, summed } from '../../src/console/state/orders/order-groups.ts';
import { OrderList } from '../../src/console/state/orders/order-list.ts';
import { OrderStore } from '../../src/console/state/orders/order-store.ts';
import { textOfUnits } from '../../src/console/state/text/decimal-text.ts';
import { updateOf } from '../support/rest/console-rig.ts';

describe('issue: The sums of a group added what it buys to what it sells.', () => {
  function listOf(group: readonly GroupPart[]) {
    const frames: (() => void)[] = [];
    const store = new OrderStore({ frame: (run) => frames.push(run), monotonicMs: () => 0 });
    const list = new OrderList(store, { ...defaultView, group });
    const add = (over: Required<Parameters<typeof updateOf>>[0]) => {
      store.takeUpdate(updateOf({ cumQty: '0', ...over, ...(over.quantity && { leavesQty: over.quantity }) }));
      for (const run of frames.splice(0)) run();
    };
    const lines = () =>
      list.rows.map((row) =>
        isGroup(row)
          ? [groupText(row, group), row.orders, textOfUnits(row.sums[summed.indexOf('left')] ?? 0n), row.leads].join(
              ' ',
            )
          : row.orderId,
      );
    return { list, add, lines };
  }

  it('a group has a line for each side, bought first, and its orders behind both', () => {
    const { add, lines } = listOf(['account']);
    add({ orderId: 'sold', side: 'sell', quantity: '300' });
    expect(lines()).toEqual(['ACC-1, sell 1 300 true', 'sold']);
    add({ orderId: 'bought', side: 'buy', quantity: '500' });
    add({ orderId: 'short', side: 'sell_short', quantity: '40' });
    expect(lines()).toEqual([...['ACC-1, buy 1 500 true', 'ACC-1, sell 2 340 false'], ...['short', 'bought', 'sold']]);
    add({ orderId: 'bought', side: 'buy', quantity: '500', revision: 2, status: 'canceled' });
    expect(lines()).toEqual(['ACC-1, sell 2 340 true', 'short', 'sold']);
  });

  it('an account of the same name at another venue has lines of its own', () => {
    const { add, lines } = listOf(['account']);
    add({ orderId: 'here', side: 'buy', quantity: '300' });
    add({ orderId: 'there', stream: 'alpaca_paper', side: 'buy', quantity: '40' });
    expect(lines()).toEqual(expect.arrayContaining(['ACC-1, buy 1 300 true', 'ACC-1 (alpaca_paper), buy 1 40 true']));
  });

  it('both lines are folded as one, and a group by side names it once', () => {
    const { list, add, lines } = listOf(['side', 'account']);
    add({ orderId: 'sold', side: 'sell', quantity: '300' });
    add({ orderId: 'bought', side: 'buy', quantity: '500' });
    expect(lines()).toEqual(['buy, ACC-1 1 500 true', 'bought', 'sell, ACC-1 1 300 true', 'sold']);
    const mixed = listOf(['account']);
    mixed.add({ orderId: 'sold', side: 'sell', quantity: '300' });
    mixed.add({ orderId: 'bought', side: 'buy', quantity: '500' });
    for (const row of mixed.list.rows.filter(isGroup).slice(1)) mixed.list.fold(row.group);
    expect(mixed.lines()).toEqual(['ACC-1, buy 1 500 true', 'ACC-1, sell 1 300 false']);
    expect(list.rows.filter(isGroup).map(({ folded }) => folded)).toEqual([false, false]);
  });
});
