import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Observation } from '../../../src/domain/observation.ts';
import { noDatabaseFaults } from '../../simulation/database-rows.ts';
import { ingestRig, orderAt } from '../../support/orders/ingest-rig.ts';
import { fold, observe } from '../../support/orders/observe.ts';

/** Observations of a few orders in any order, some of them again, with pauses between them. */
const script = fc.array(
  fc.record({
    order: fc.integer({ min: 0, max: 4 }),
    step: fc.integer({ min: 0, max: 9 }),
    pauseMs: fc.constantFrom(0, 0, 0, 1, 5, 40),
    poison: fc.integer({ min: 0, max: 30 }).map((n) => n === 0),
  }),
  { minLength: 1, maxLength: 60 },
);
const faults = fc.record({
  retry: fc.constantFrom(0, 0.2),
  lostBefore: fc.constantFrom(0, 0.15),
  orphan: fc.constantFrom(0, 0.15),
  lostAnswer: fc.constantFrom(0, 0.15),
  unreachable: fc.constantFrom(0, 0.2),
});

const keyOf = ({ view }: Observation) => `account:${view.orderId}`;

describe('ingest over a database that fails at every step', () => {
  // The first event of an order may come again at any time: with two heads in the cache, mostly
  // when its order has left it.
  it('ends every observation once, and leaves the state that the same observations give without faults', async () => {
    await fc.assert(
      fc.asyncProperty(script, faults, fc.integer({ min: 0, max: 1e6 }), async (steps, wrong, seed) => {
        const rig = await ingestRig(seed, { headCacheCount: 2, batchMaxCount: 5 });
        rig.database.faults = wrong;
        rig.ingest.begin(rig.hold);
        const offered: Observation[] = [];
        for (const { order, step, pauseMs, poison } of steps) {
          const first = step === 0 ? ({ status: 'pending_new', statusRaw: 'PENDING_NEW' } as const) : {};
          const observation = observe(orderAt(order, step, { ...first, ...(poison && { rejectText: 'POISON' }) }));
          if (!poison) offered.push(observation);
          rig.offer(observation);
          if (pauseMs > 0) await rig.clock.advance(pauseMs);
        }
        await rig.clock.advance(2000);
        rig.database.faults = noDatabaseFaults;
        const settled = rig.ingest.committed();
        await rig.clock.advance(30_000);
        await settled;

        expect(rig.database.violations).toEqual([]);
        expect(rig.results).toHaveLength(steps.length);
        // What holds poison is refused, so it leaves no head.
        expect(new Set(rig.database.heads.keys())).toEqual(new Set(offered.map(keyOf)));
        for (const [key, head] of rig.database.heads) {
          const same = offered.filter((observation) => keyOf(observation) === key);
          expect(JSON.parse(head.state)).toEqual(fold(same).head.order);
          const revisions = rig.database.log.filter((row) => row.key === key).map((row) => row.revision);
          expect(revisions).toEqual(Array.from({ length: head.revision }, (_, index) => index + 1));
        }
        const poisoned = steps.filter((step) => step.poison).length;
        expect(rig.results.filter((result) => result === 'dead_lettered').length).toBeLessThanOrEqual(poisoned);
        const numbers = rig.handed.map((batch) => batch.number);
        expect(numbers).toEqual(numbers.toSorted((a, b) => (a < b ? -1 : 1)));
        const ended = rig.ingest.end();
        await rig.clock.advance(1000);
        await ended;
      }),
      { numRuns: 150 },
    );
  });
});
