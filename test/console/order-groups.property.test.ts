import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type BlotterView, defaultView } from '../../src/console/state/orders/blotter-view.ts';
import { groupParts, isGroup } from '../../src/console/state/orders/order-groups.ts';
import { OrderList } from '../../src/console/state/orders/order-list.ts';
import { OrderStore } from '../../src/console/state/orders/order-store.ts';
import { updateOf } from '../support/rest/console-rig.ts';

const change = fc.record({
  orderId: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'),
  accountId: fc.constantFrom('ACC-1', 'ACC-2'),
  side: fc.constantFrom('buy', 'sell', 'sell_short'),
  status: fc.constantFrom('new', 'partially_filled', 'canceled'),
  quantity: fc.constantFrom('0.1', '0.2', '1000', '99999999999999999.5'),
  price: fc.constantFrom('63.81', '0.000001', undefined),
});
const step = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('change' as const), change }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('fold' as const), at: fc.nat(5) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('clear' as const) }) },
);

const textOf = (list: OrderList) =>
  list.rows.map((row) =>
    isGroup(row) ? `${row.key} ${row.orders} ${row.unpriced} ${row.sums.join()} ${row.folded}` : row.key,
  );

it('sums that are kept up are those of a list that is read anew, whatever came before', () => {
  fc.assert(
    fc.property(
      fc.subarray([...groupParts], { minLength: 1 }),
      fc.boolean(),
      fc.array(step, { maxLength: 40 }),
      (group, sumsOnly, steps) => {
        const frames: (() => void)[] = [];
        const store = new OrderStore({ frame: (run) => frames.push(run), monotonicMs: () => 0 });
        const view: BlotterView = { ...defaultView, group, sumsOnly };
        const list = new OrderList(store, view);
        const folded: string[] = [];
        for (const [at, next] of steps.entries()) {
          const lines = list.rows.filter(isGroup);
          const { group: name } = lines[next.kind === 'fold' ? next.at % lines.length : 0] ?? {};
          if (next.kind === 'clear') store.clear();
          else if (next.kind === 'change') {
            const { price, ...order } = next.change;
            store.takeUpdate(
              updateOf({ ...order, ...(price !== undefined && { price }), revision: at + 1, cumQty: '0' }),
            );
          } else if (name !== undefined) {
            list.fold(name);
            folded.push(name);
          }
          for (const run of frames.splice(0)) run();
          const anew = new OrderList(store, view);
          for (const each of folded) anew.fold(each);
          expect(textOf(list)).toEqual(textOf(anew));
          for (const [place, row] of list.rows.entries()) expect(list.placeOf(row.key)).toBe(place);
          anew.close();
        }
      },
    ),
  );
});
