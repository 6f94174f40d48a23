import fc from 'fast-check';
import { expect, it } from 'vitest';
import { normalisedOrder } from '../../src/contract/normalised-order.ts';
import { encodeHeadJoin, encodeOrder } from '../../src/domain/encode-update.ts';
import { decodeHead, type Head } from '../../src/domain/head.ts';
import { reduce } from '../../src/domain/reduce.ts';
import { accountObservations, predictionObservations } from '../support/orders/arbitrary-orders.ts';
import { fold } from '../support/orders/observe.ts';

type Json = Record<string, unknown>;

const junk = fc.oneof(
  ...[fc.constant(null), fc.integer(), fc.string({ maxLength: 5 }), fc.boolean(), fc.constant([]), fc.constant({})],
  fc.constantFrom('1e5', '01', '2026-02-30T00:00:00Z', 'some_word', '-0', 'new', 'account'),
);

/** The same with one value, at any depth, left out or of another kind. */
const damaged = (value: Json) =>
  fc.tuple(fc.nat(), junk, fc.boolean()).map(([place, other, leftOut]) => {
    const copy = structuredClone(value);
    const places: [Json, string][] = [];
    const walk = (object: Json) => {
      for (const name of Object.keys(object)) {
        places.push([object, name]);
        const inner = object[name];
        if (typeof inner === 'object' && inner !== null) walk(inner as Json);
      }
    };
    walk(copy);
    const [object, name] = places[place % Math.max(1, places.length)] ?? [copy, 'none'];
    if (leftOut) delete object[name];
    else object[name] = other;
    return copy;
  });

const stored = ({ order, join }: Pick<Head, 'order' | 'join'>) => ({
  ...{ order: JSON.parse(JSON.stringify(order)) as Json, join: JSON.parse(JSON.stringify(join)) as Json },
});

const cases = fc.oneof(accountObservations({ minLength: 2 }), predictionObservations(6)).chain((observations) => {
  const { head } = fold(observations);
  const { order, join } = stored(head);
  return fc.record({
    observations: fc.constant(observations),
    head: fc.constant(head),
    order: fc.oneof(fc.constant(order), damaged(order)),
    join: fc.oneof(fc.constant(join), damaged(join)),
  });
});

it('a stored head is refused, or reduced upon to an order of the known shape', () => {
  fc.assert(
    fc.property(cases, ({ observations, head, order, join }) => {
      const row = { state: JSON.stringify(order), join: JSON.stringify(join), revision: head.revision };
      let read: Head;
      try {
        read = decodeHead({ ...row, sourceVersion: head.sourceVersion?.toString() ?? null });
      } catch (error) {
        expect(error).toBeInstanceOf(TypeError);
        return;
      }
      for (const observation of observations) {
        const reduction = reduce(read, observation);
        if (reduction.result === 'conflict' || reduction.head === undefined) continue;
        read = reduction.head;
        expect(normalisedOrder.safeParse(JSON.parse(encodeOrder(read.order))).error).toBeUndefined();
        expect(() => encodeHeadJoin(read)).not.toThrow();
      }
    }),
    { numRuns: 3_000 },
  );
});

it('every head that a reduction makes is taken back as it is', () => {
  fc.assert(
    fc.property(fc.oneof(accountObservations(), predictionObservations()), (observations) => {
      const { head } = fold(observations);
      const { order, join } = stored(head);
      const row = { state: JSON.stringify(order), join: JSON.stringify(join), revision: head.revision };
      expect(decodeHead({ ...row, sourceVersion: null })).toMatchObject({ order, join });
    }),
  );
});
