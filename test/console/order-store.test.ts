import { describe, expect, it } from 'vitest';
import { defaultView } from '../../src/console/state/orders/blotter-view.ts';
import { isGroup } from '../../src/console/state/orders/order-groups.ts';
import { OrderList } from '../../src/console/state/orders/order-list.ts';
import { OrderStore } from '../../src/console/state/orders/order-store.ts';
import { RowSlots } from '../../src/console/state/orders/row-slots.ts';
import { exchangeRows } from '../../src/console/state/orders/sorted-rows.ts';
import { listedOf, updateOf } from '../support/rest/console-rig.ts';

function start(mostClosed = 100) {
  const frames: (() => void)[] = [];
  const store = new OrderStore({ frame: (run) => frames.push(run), monotonicMs: () => 7 }, mostClosed);
  const list = new OrderList(store, defaultView);
  const draw = () => {
    const due = frames.splice(0);
    for (const run of due) run();
    return due.length;
  };
  const rows = () => list.rows.flatMap((row) => (isGroup(row) ? [] : [row]));
  const ids = () => rows().map(({ orderId, revision }) => `${orderId}:${revision}`);
  return { store, list, draw, rows, ids };
}

describe('the order store', () => {
  it('draws once a frame, with the newest state of each order alone', () => {
    const { store, draw, ids } = start();
    for (let revision = 1; revision <= 50; revision += 1) {
      store.takeUpdate(updateOf({ orderId: 'a', revision }));
      store.takeUpdate(updateOf({ orderId: 'b', revision }));
    }
    expect(ids()).toEqual([]);
    expect(draw()).toBe(1);
    expect(ids()).toEqual(['b:50', 'a:50']);
    expect(draw()).toBe(0);
  });

  it('keeps the highest generation and revision, in whatever order they come', () => {
    const { store, draw, ids } = start();
    store.takeUpdate(updateOf({ orderId: 'a', revision: 3 }));
    store.takeUpdate(updateOf({ orderId: 'a', revision: 2 }));
    store.takeListed([listedOf(updateOf({ orderId: 'a', revision: 1 }))]);
    draw();
    expect(ids()).toEqual(['a:3']);
    store.takeUpdate(updateOf({ orderId: 'a', revision: 1, generation: 2 }));
    draw();
    expect(ids()).toEqual(['a:1']);
  });

  it('puts what changes before what was read, and takes an order that is over out of the open ones', () => {
    const { store, draw, ids } = start();
    store.takeListed(['a', 'b', 'c'].map((orderId) => listedOf(updateOf({ orderId }))));
    store.takeUpdate(updateOf({ orderId: 'b', revision: 2 }));
    draw();
    expect(ids()).toEqual(['b:2', 'a:1', 'c:1']);
    store.takeUpdate(updateOf({ orderId: 'b', revision: 3, status: 'canceled', leavesQty: '0' }));
    draw();
    expect(ids()).toEqual(['a:1', 'c:1']);
  });

  it('joins the changed fields of one frame', () => {
    const { store, draw, rows } = start();
    store.takeUpdate({ ...updateOf({ orderId: 'a', revision: 2 }), changed: ['price'] });
    store.takeUpdate({ ...updateOf({ orderId: 'a', revision: 3 }), changed: ['cumQty'] });
    draw();
    expect(rows()[0]?.changed).toEqual(['price', 'cumQty']);
  });

  it('keeps a bounded number of orders that are over, and drops those that changed longest ago', () => {
    const { store, draw } = start(2);
    for (const orderId of ['a', 'b', 'c']) store.takeUpdate(updateOf({ orderId, status: 'canceled', leavesQty: '0' }));
    store.takeUpdate(updateOf({ orderId: 'open' }));
    draw();
    expect([...store.rows.keys()]).toEqual(['account:b', 'account:c', 'account:open']);
  });
});

describe('a list of orders', () => {
  it('stands still while it is paused, counts the orders that wait, and shows them all when it goes on', () => {
    const { store, draw, ids, list } = start();
    store.takeUpdate(updateOf({ orderId: 'a' }));
    draw();
    list.setPaused(true);
    for (let revision = 2; revision < 9; revision += 1) store.takeUpdate(updateOf({ orderId: 'a', revision }));
    store.takeUpdate(updateOf({ orderId: 'b' }));
    draw();
    expect([ids(), list.waiting.value]).toEqual([['a:1'], 2]);
    list.setPaused(false);
    expect([ids(), list.waiting.value]).toEqual([['b:1', 'a:8'], 0]);
  });

  it.each([
    ['few', 'abcdefghijlmnopqrstuvwxyz'],
    ['most', 'abcd'],
  ])(
    'keeps its rows in their places while it is held, with new values, and then sorts them: %s changed',
    (_, letters) => {
      const { store, draw, ids, list } = start();
      const drawn = () => list.rows.map((row) => list.drawnOf(row)).flatMap((row) => (isGroup(row) ? [] : [row]));
      const timers = new Set<() => void>();
      const hold = () =>
        list.hold({
          after: (_ms, run) => {
            timers.add(run);
            return { cancel: () => timers.delete(run) };
          },
        });
      for (const orderId of letters) store.takeUpdate(updateOf({ orderId }));
      draw();
      const before = list.rows.map(({ key }) => key);
      hold();
      hold();
      expect(timers.size).toBe(1);
      store.takeUpdate(updateOf({ orderId: 'a', revision: 2 }));
      store.takeUpdate(updateOf({ orderId: 'b', revision: 2, status: 'canceled', leavesQty: '0' }));
      store.takeUpdate(updateOf({ orderId: 'k' }));
      draw();
      expect(drawn().map(({ key }) => key)).toEqual(before);
      expect(drawn().map(({ revision }) => revision)).toEqual([...new Array(letters.length - 2).fill(1), 2, 2]);
      expect([list.orderOf('account:a')?.revision, list.orders().at(-1)?.revision]).toEqual([2, 2]);
      expect([list.orderOf('account:k'), list.placeOf('account:a')]).toEqual([undefined, letters.length - 1]);
      // A pause in it takes no value back, and its end moves no row.
      list.setPaused(true);
      store.takeUpdate(updateOf({ orderId: 'a', revision: 3 }));
      draw();
      expect(drawn().at(-1)?.revision).toBe(2);
      list.setPaused(false);
      expect([drawn().at(-1)?.revision, drawn().map(({ key }) => key)]).toEqual([3, before]);
      for (const run of timers) run();
      const others = [...letters.slice(2)].reverse().map((each) => `${each}:1`);
      expect(ids()).toEqual(['a:3', 'k:1', ...others]);
      expect(new OrderList(store, defaultView).rows).toEqual(list.rows);
      list.close();
    },
  );

  it('sorts by any column as a whole sort would, one frame after the other', () => {
    const { store, draw, list, rows } = start();
    list.show({ ...defaultView, sort: { column: 'quantity', descending: false } });
    const quantities = ['100', '9', '10.5', '1000', '10', '0.3'];
    for (const [at, quantity] of quantities.entries()) {
      store.takeUpdate(updateOf({ orderId: `o${at}`, quantity, cumQty: '0', leavesQty: quantity }));
      draw();
    }
    expect(rows().map(({ order }) => order.quantity)).toEqual(['0.3', '9', '10', '10.5', '100', '1000']);
    store.takeUpdate(updateOf({ orderId: 'o5', revision: 2, quantity: '99999999999999999.5', cumQty: '0' }));
    draw();
    expect(rows().at(-1)?.orderId).toBe('o5');
    for (const [at, { key }] of list.rows.entries()) expect(list.placeOf(key)).toBe(at);
    expect(list.placeOf('account:none')).toBe(-1);
  });

  it('is empty after the store was cleared', () => {
    const { store, draw, ids } = start();
    store.takeUpdate(updateOf({ orderId: 'a' }));
    draw();
    store.clear();
    draw();
    expect(ids()).toEqual([]);
  });
});

describe('an exchange of sorted rows', () => {
  it('gives the list that a whole sort would give, wherever rows leave and come', () => {
    const compare = (a: number, b: number) => a - b;
    for (let from = 0; from < 12; from += 1)
      for (let to = from; to < 12; to += 1)
        for (const fresh of [[], [-1], [99], [-1, 5.5, 99], [0.5, 1.5, 10.5]]) {
          const rows = Array.from({ length: 12 }, (_, at) => at);
          const old = rows.slice(from, to);
          const expected = [...rows.filter((row) => !old.includes(row)), ...fresh].sort(compare);
          exchangeRows(rows, old, fresh, compare);
          expect(rows).toEqual(expected);
        }
  });
});

describe('the slots of rows in view', () => {
  it('keep a row where it is, and give the place of one that left to one that came', () => {
    const slots = new RowSlots<{ key: string }>();
    const assign = (keys: string, first = 0) =>
      slots
        .assign(
          [...keys].map((key) => ({ key })),
          first,
        )
        .map(({ slot, row, index }) => `${slot}${row.key}${index}`);
    expect(assign('abc')).toEqual(['0a0', '1b1', '2c2']);
    expect(assign('xab')).toEqual(['0a1', '1b2', '2x0']);
    expect(assign('xyab', 5)).toEqual(['0a7', '1b8', '2x5', '3y6']);
    expect(assign('')).toEqual([]);
    expect(assign('q')).toEqual(['0q0']);
  });
});
