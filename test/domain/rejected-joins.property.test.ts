import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareDecimals } from '../../src/domain/decimal.ts';
import { compareInstants } from '../../src/domain/instant.ts';
import type { Observation } from '../../src/domain/observation.ts';
import type { OrderView } from '../../src/domain/order.ts';
import { accountObservations } from '../support/orders/arbitrary-orders.ts';
import { fold } from '../support/orders/observe.ts';

type Shown = readonly unknown[];
type Rule = (set: readonly Observation[]) => Shown;

/** What any rule must agree on, whatever the order of arrival. */
function show({ status, cumQty, price, quantity, updatedAt }: OrderView): Shown {
  return [status, cumQty, price, quantity, Date.parse(updatedAt)];
}

const theJoin: Rule = (set) => show(fold(set).head.order);

/** Rejected: an obvious guard against old news, but what it drops depends on what came first. */
const dropLowerCumQty: Rule = (set) =>
  show(
    set
      .map(({ view }) => view)
      .reduce((held, view) => {
        if (compareDecimals(view.cumQty, held.cumQty) < 0) return held;
        const ended = ['filled', 'canceled', 'expired', 'rejected', 'replaced'].includes(held.status);
        return ended ? { ...view, status: held.status } : view;
      }),
  );

/**
 * Rejected: the stream is fresher than a list, so let it win where both say the same cumQty and
 * instant. Two streamed views then still tie.
 */
const listLosesTie: Rule = (set) =>
  show(
    set.reduce((held, next) => {
      const order =
        compareDecimals(next.view.cumQty, held.view.cumQty) ||
        compareInstants(next.view.updatedAt, held.view.updatedAt);
      if (order !== 0) return order > 0 ? next : held;
      return next.cause === 'stream' || held.cause !== 'stream' ? next : held;
    }).view,
  );

const cases = fc.sample(
  accountObservations({ minLength: 6 }).chain((set) =>
    fc.tuple(fc.constant(set), fc.shuffledSubarray(set, { minLength: set.length })),
  ),
  { seed: 20261121, numRuns: 4_000 },
);

const dependingOnArrival = (rule: Rule) =>
  cases.filter(([set, rearranged]) => JSON.stringify(rule(set)) !== JSON.stringify(rule(rearranged))).length;

/**
 * The same 4,000 random sets for each rule: the check that our join
 * passes is one that plausible rules fail.
 */
describe('over 4,000 random sets of views in two orders of arrival each', () => {
  it('"drop anything with a lower cumQty" depends on arrival in many', () => {
    expect(dependingOnArrival(dropLowerCumQty)).toBeGreaterThan(1_000);
  });

  it('"a list loses a tie to the stream" depends on arrival in some', () => {
    expect(dependingOnArrival(listLosesTie)).toBeGreaterThan(100);
  });

  it('the join depends on arrival in none', () => {
    expect(dependingOnArrival(theJoin)).toBe(0);
  });
});
