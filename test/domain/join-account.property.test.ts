import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type AccountJoin, joinOfView, mergeJoins } from '../../src/domain/account-join.ts';
import { memoryOf, recallJoin } from '../../src/domain/account-memory.ts';
import { presentAccount } from '../../src/domain/join-account.ts';
import type { Order, OrderView } from '../../src/domain/order.ts';
import { accountContent } from '../../src/domain/view-content.ts';
import { accountObservations, accountViews, shuffledWithRepeats } from '../support/orders/arbitrary-orders.ts';
import { fold } from '../support/orders/observe.ts';

/**
 * The order by value: instants as milliseconds, and without what is carried outside of the promise.
 */
function byValue(order: Order): unknown {
  const { extra: _extra, createdAt: _createdAt, updatedAt, expireTime, ...rest } = order;
  return {
    ...rest,
    updatedAt: Date.parse(updatedAt),
    expireTime: expireTime === undefined ? undefined : Date.parse(expireTime),
  };
}

function joined(views: readonly OrderView[]): AccountJoin {
  const [first, ...others] = views.map(joinOfView);
  if (first === undefined) throw new Error('no views');
  return others.reduce(mergeJoins, first);
}

const shown = (join: AccountJoin) => byValue(presentAccount(join, { origin: 'external' }));

describe('the account join', () => {
  it('comes to the same order for 4,000 random sets of views, whatever the order of arrival and however often each arrives', () => {
    const cases = accountObservations().chain((set) => fc.tuple(fc.constant(set), shuffledWithRepeats(set)));
    fc.assert(
      fc.property(cases, ([set, rearranged]) => {
        expect(byValue(fold(rearranged).head.order)).toEqual(byValue(fold(set).head.order));
      }),
      { numRuns: 4_000 },
    );
  });

  it('does not notice being stored and read back between any two observations', () => {
    const cases = accountObservations().chain((set) => fc.tuple(fc.constant(set), fc.uniqueArray(fc.nat(set.length))));
    fc.assert(
      fc.property(cases, ([set, cuts]) => {
        const stored = fold(set, new Set(cuts));
        const straight = fold(set);
        expect(stored.head).toEqual(straight.head);
        expect(stored.reductions.map((r) => r.result)).toEqual(straight.reductions.map((r) => r.result));
      }),
      { numRuns: 1_000 },
    );
  });

  it('is commutative, associative and idempotent as a join of joins', () => {
    const sets = fc.array(accountViews(), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(sets, sets, sets, (x, y, z) => {
        const [a, b, c] = [joined(x), joined(y), joined(z)];
        expect(shown(mergeJoins(a, b))).toEqual(shown(mergeJoins(b, a)));
        expect(shown(mergeJoins(mergeJoins(a, b), c))).toEqual(shown(mergeJoins(a, mergeJoins(b, c))));
        expect(mergeJoins(a, a)).toBe(a);
        expect(mergeJoins(mergeJoins(a, b), b)).toEqual(mergeJoins(a, b));
      }),
      { numRuns: 1_000 },
    );
  });

  it('is what the reducer folds: one view after the other comes to the join of all', () => {
    fc.assert(
      fc.property(accountObservations(), (set) => {
        expect(byValue(fold(set).head.order)).toEqual(shown(joined(set.map(({ view }) => view))));
      }),
    );
  });

  it('is recalled from a head as it was', () => {
    fc.assert(
      fc.property(fc.array(accountViews(), { minLength: 1, maxLength: 6 }), (views) => {
        const join = joined(views);
        const order = presentAccount(join, { origin: 'external' });
        const recalled = recallJoin({ order, revision: 1, join: memoryOf(join, order, undefined) });
        expect(presentAccount(recalled, { origin: 'external' })).toEqual(order);
        expect(accountContent(recalled.winner)).toBe(accountContent(join.winner));
        for (const view of views) expect(mergeJoins(recalled, joinOfView(view))).toBe(recalled);
      }),
    );
  });

  it('makes a revision exactly when the order that is shown changes, numbered without a hole', () => {
    fc.assert(
      fc.property(accountObservations(), (set) => {
        let before: unknown;
        let revision = 0;
        for (let length = 1; length <= set.length; length += 1) {
          const { head, reductions } = fold(set.slice(0, length));
          const changed = before === undefined || JSON.stringify(byValue(head.order)) !== JSON.stringify(before);
          expect(reductions.at(-1)?.result === 'applied').toBe(changed);
          revision += changed ? 1 : 0;
          expect(head.revision).toBe(revision);
          before = byValue(head.order);
        }
      }),
    );
  });

  it('never lets cumQty fall or a terminal status go', () => {
    fc.assert(
      fc.property(accountObservations(), (set) => {
        const terminal = set.some(({ view }) =>
          ['filled', 'replaced', 'canceled', 'expired', 'rejected'].includes(view.status),
        );
        const { order } = fold(set).head;
        expect(Number(order.cumQty)).toBe(Math.max(...set.map(({ view }) => Number(view.cumQty))));
        if (terminal) expect(order.leavesQty).toBe('0');
      }),
    );
  });

  it('sums its fills to cumQty', () => {
    fc.assert(
      fc.property(accountObservations(), (set) => {
        const { head, reductions } = fold(set);
        const fills = reductions.flatMap((r) =>
          r.result === 'applied' && r.fill !== undefined ? [Number(r.fill.quantity)] : [],
        );
        expect(fills.reduce((sum, quantity) => sum + quantity, 0)).toBe(Number(head.order.cumQty));
      }),
    );
  });
});
