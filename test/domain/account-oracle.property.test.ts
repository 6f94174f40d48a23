import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { OrderStatus, OrderView } from '../../src/domain/order.ts';
import { reduce } from '../../src/domain/reduce.ts';
import { accountObservations, accountViews, instantAt } from '../support/orders/arbitrary-orders.ts';
import { fold, observe, throughStorage } from '../support/orders/observe.ts';

/**
 * The rules of the join read out over the whole set at once, with floats, dates and a list of
 * ranks: nothing shared with the code under test.
 */
const ranks: readonly (readonly OrderStatus[])[] = [
  ['unknown'],
  ['pending_new'],
  ['new'],
  ['done_for_day'],
  ['suspended'],
  ['partially_filled'],
  ['filled', 'replaced', 'canceled', 'expired', 'rejected'],
];
const ends = ['filled', 'replaced', 'canceled', 'expired', 'rejected'] as const;

/**
 * The views that no other beats by (cumQty, updatedAt, rank). More
 * than one is a tie that only content decides.
 */
function best(views: readonly OrderView[]): OrderView[] {
  const keys: ((view: OrderView) => number)[] = [
    (view) => Number(view.cumQty),
    (view) => Date.parse(view.updatedAt),
    (view) => ranks.findIndex((rank) => rank.includes(view.status)),
  ];
  return keys.reduce<OrderView[]>(
    (left, key) => {
      const top = Math.max(...left.map(key));
      return left.filter((view) => key(view) === top);
    },
    [...views],
  );
}

describe('an account order, against the rules read out over all its views at once', () => {
  it('has the highest cumQty, the first end by precedence, and the terms of a winning view', () => {
    fc.assert(
      fc.property(accountObservations(), (set) => {
        const views = set.map(({ view }) => view);
        const { order } = fold(set).head;
        const winners = best(views);
        const end = ends.find((status) => views.some((view) => view.status === status));
        expect(Number(order.cumQty)).toBe(Math.max(...views.map(({ cumQty }) => Number(cumQty))));
        const terms = ({ quantity, price, updatedAt }: OrderView) => ({ quantity, price, at: Date.parse(updatedAt) });
        expect(winners.map(terms)).toContainEqual(terms(order));
        if (end === undefined)
          expect(winners.map(({ status, leavesQty }) => [status, leavesQty])).toContainEqual([
            order.status,
            order.leavesQty,
          ]);
        else expect(order).toMatchObject({ status: end, leavesQty: '0', pendingAction: 'none' });
      }),
      { numRuns: 2_000 },
    );
  });

  it('has the newest average price of its highest cumQty, or none', () => {
    fc.assert(
      fc.property(accountObservations(), (set) => {
        const views = set.map(({ view }) => view);
        const top = Math.max(...views.map(({ cumQty }) => Number(cumQty)));
        const priced = views.filter(({ cumQty, avgPrice }) => Number(cumQty) === top && avgPrice !== undefined);
        const newest = Math.max(...priced.map(({ updatedAt }) => Date.parse(updatedAt)));
        const candidates = priced
          .filter(({ updatedAt }) => Date.parse(updatedAt) === newest)
          .map(({ avgPrice }) => Number(avgPrice));
        const { avgPrice } = fold(set).head.order;
        if (candidates.length === 0) expect(avgPrice).toBeUndefined();
        else expect(Number(avgPrice)).toBe(Math.max(...candidates));
      }),
      { numRuns: 2_000 },
    );
  });

  it('is marked as contradicting itself exactly when its ends disagree with each other or with the quantities', () => {
    fc.assert(
      fc.property(accountObservations(), (set) => {
        const views = set.map(({ view }) => view);
        const ended = views.filter(({ status }) => (ends as readonly string[]).includes(status));
        const top = Math.max(...views.map(({ cumQty }) => Number(cumQty)));
        const { order } = fold(set).head;
        const disagree = new Set(ended.map(({ status }) => status)).size > 1;
        const short = ended.length > 0 && Math.max(...ended.map(({ cumQty }) => Number(cumQty))) < top;
        const least = Math.min(...views.flatMap(({ working }) => (working.quantity ? [Number(working.quantity)] : [])));
        const [filled, asked] = [Number(order.cumQty), Number(order.quantity)];
        const isToBeWhole = order.status === 'filled' && order.quantity !== undefined;
        const incomplete = isToBeWhole && filled !== asked && !(filled < asked && filled >= least);
        expect(order.conflict !== undefined).toBe(disagree || short || incomplete);
      }),
      { numRuns: 2_000 },
    );
  });

  it('is what two reads have shown at its revision, whatever the instants of all views before say', () => {
    const known = accountViews().filter(({ status }) => status !== 'unknown');
    fc.assert(
      fc.property(accountObservations(), known, (set, read) => {
        const { head } = fold(set);
        const told = observe(read, { cause: 'probe', overrules: head.revision });
        const reduction = reduce(throughStorage(head), told);
        const { order } = (reduction.result !== 'conflict' && reduction.head) || head;
        // A view without a quantity, and one with it, do not deny each other.
        const quantity = order.quantity && (read.quantity ?? order.quantity);
        const asTold = { cumQty: Number(read.cumQty), quantity, status: read.status };
        expect({ cumQty: Number(order.cumQty), quantity: order.quantity, status: order.status }).toEqual(asTold);
        if ('correction' in reduction)
          expect(reduce(throughStorage(reduction.head), observe(read, { cause: 'probe' }))).toEqual({
            result: 'duplicate',
          });
        // A view that leaves a price out does not deny it.
        if (read.price !== undefined && order.price !== undefined) expect(order.price).toBe(read.price);
        const { price: _price, ...unpriced } = read;
        const next = observe({ ...unpriced, updatedAt: instantAt(50), quantity: '11', working: { quantity: '11' } });
        const after = reduce(reduction.result !== 'conflict' && reduction.head ? reduction.head : head, next);
        expect(after, 'it is followed from there').toMatchObject({
          result: 'applied',
          head: { order: { quantity: '11' } },
        });
      }),
      { numRuns: 2_000 },
    );
  });

  it('is not what reads have shown where it has changed since, whatever their instant', () => {
    fc.assert(
      fc.property(accountObservations(), accountViews(), (set, read) => {
        const { head } = fold(set);
        const told = { cause: 'probe', overrules: head.revision - 1 } as const;
        const taken = reduce(head, observe(read, told));
        const plain = reduce(head, observe(read, { cause: 'probe' }));
        expect(taken).toEqual(plain);
      }),
      { numRuns: 1_000 },
    );
  });
});
