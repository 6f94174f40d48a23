import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Observation } from '../../src/domain/observation.ts';
import { predictionObservations, shuffledWithRepeats } from '../support/orders/arbitrary-orders.ts';
import { fold } from '../support/orders/observe.ts';

/**
 * The oracle: the highest (epoch, version) delivered, or the newest reply when no version ever
 * came. Written with sort, not with the reducer's rules.
 */
function highest(set: readonly Observation[]): Observation {
  const key = (o: Observation) => [
    o.sourceVersion === undefined ? 0n : 1n,
    BigInt(o.sourceEpoch),
    o.sourceVersion ?? BigInt(Date.parse(o.view.updatedAt)),
  ];
  const sorted = [...set].sort((a, b) => {
    const [ka, kb] = [key(a), key(b)];
    const at = ka.findIndex((part, index) => part !== kb[index]);
    return at === -1 ? 0 : (ka[at] ?? 0n) < (kb[at] ?? 0n) ? -1 : 1;
  });
  const last = sorted.at(-1);
  if (last === undefined) throw new Error('empty set');
  return last;
}

describe('the prediction reducer', () => {
  it('keeps the highest version of the highest epoch, with its content, for any order of arrival and any repetition', () => {
    const cases = predictionObservations().chain((set) => fc.tuple(fc.constant(set), shuffledWithRepeats(set)));
    fc.assert(
      fc.property(cases, ([set, rearranged]) => {
        const { head } = fold(rearranged);
        const wanted = highest(set);
        expect(head.sourceVersion).toBe(wanted.sourceVersion);
        expect(head.order).toEqual({
          ...wanted.view,
          origin: 'external',
          ...(wanted.sourceEpoch === 0 ? {} : { sourceEpoch: wanted.sourceEpoch }),
        });
      }),
      { numRuns: 2_000 },
    );
  });

  it('never meets a conflict in what a platform that keeps its word says', () => {
    fc.assert(
      fc.property(predictionObservations(), (set) => {
        expect(fold(set).reductions.map((r) => r.result)).not.toContain('conflict');
      }),
    );
  });

  it('does not notice being stored and read back between any two observations', () => {
    const cases = predictionObservations().chain((set) =>
      fc.tuple(fc.constant(set), fc.uniqueArray(fc.nat(set.length))),
    );
    fc.assert(
      fc.property(cases, ([set, cuts]) => {
        const stored = fold(set, new Set(cuts));
        expect(stored).toEqual(fold(set));
      }),
      { numRuns: 1_000 },
    );
  });

  it('counts revisions without a hole and never lets (epoch, version) fall', () => {
    fc.assert(
      fc.property(predictionObservations(), (set) => {
        let revision = 0;
        let held = [0n, -1n] as readonly [bigint, bigint];
        for (const reduction of fold(set).reductions) {
          if (reduction.result !== 'applied') continue;
          const { head } = reduction;
          expect(head.revision).toBe(revision + 1);
          revision = head.revision;
          if (head.sourceVersion === undefined) continue;
          const next = [BigInt(head.order.sourceEpoch ?? 0), head.sourceVersion] as const;
          expect(next[0] > held[0] || (next[0] === held[0] && next[1] > held[1])).toBe(true);
          held = next;
        }
      }),
    );
  });

  it('does nothing for an observation that it has taken already', () => {
    fc.assert(
      fc.property(predictionObservations(), (set) => {
        const again = fold([...set, ...set]).reductions.slice(set.length);
        expect(again.map((r) => r.result)).not.toContain('applied');
      }),
    );
  });
});
