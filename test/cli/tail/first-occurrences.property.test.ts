import fc from 'fast-check';
import { expect, it } from 'vitest';
import { FirstOccurrences } from '../../../src/cli/io/tail-records.ts';

const update = fc.record({
  stream: fc.constantFrom('account' as const, 'prediction' as const),
  orderId: fc.constantFrom('a', 'b', 'c'),
  generation: fc.integer({ min: 1, max: 2 }),
  revision: fc.integer({ min: 1, max: 6 }),
});

it('lets each order only go up, by generation and then by revision, whatever is repeated', () => {
  fc.assert(
    fc.property(fc.array(update, { maxLength: 60 }), (updates) => {
      const first = new FirstOccurrences();
      const kept = updates.filter((one) => first.isFirst(one));
      for (const [index, later] of kept.entries()) {
        const before = kept
          .slice(0, index)
          .findLast((one) => one.stream === later.stream && one.orderId === later.orderId);
        if (before === undefined) continue;
        expect(later.generation * 100 + later.revision).toBeGreaterThan(before.generation * 100 + before.revision);
      }
    }),
  );
});

it('forgets the order that was updated longest ago when there are too many', () => {
  const first = new FirstOccurrences(2);
  const see = (orderId: string, revision: number) =>
    first.isFirst({ stream: 'account', orderId, generation: 1, revision });
  expect([see('a', 1), see('b', 1), see('a', 2), see('c', 1)]).toEqual([true, true, true, true]);
  expect([see('a', 2), see('c', 1), see('b', 1)]).toEqual([false, false, true]);
});
