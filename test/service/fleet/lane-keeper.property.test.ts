import fc from 'fast-check';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { Lease } from '../../../src/runtime/lease.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { LaneKeeper } from '../../../src/service/fleet/lane-keeper.ts';
import { noDatabaseFaults } from '../../simulation/database-rows.ts';
import { MemoryDatabase } from '../../simulation/world/memory-database.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

const happening = fc.record({
  what: fc.constantFrom('rival', 'change', 'refused', 'reclaim', 'away', 'back', undefined),
  restMs: fc.constantFrom(0, 1, 50, 700, 2_100, 7_000),
  beginMs: fc.constantFrom(0, 10, 5_000),
  begins: fc.constantFrom(true, true, false),
});

/** One keeper, a database that others use as well, and work that says how it is called. */
function worldOf() {
  const clock = new VirtualClock();
  const database = new MemoryDatabase(clock, seededRandom(1));
  const lease = new Lease(clock, 3_000);
  const lines: string[] = [];
  const world = { beginMs: 0, begins: true, isWorking: false, begun: 0, faults: [] as string[] };
  const work = {
    begin: async () => {
      if (world.isWorking) world.faults.push('begin, and it had begun');
      world.isWorking = true;
      world.begun += 1;
      await clock.sleep(world.beginMs);
      if (!world.begins) throw new Error('it can not begin');
    },
    end: async () => {
      if (!world.isWorking) world.faults.push('end, and it had not begun');
      if (lease.mayAct()) world.faults.push('end while the process may act');
      world.isWorking = false;
    },
  };
  const log = pino({ level: 'error', base: null, timestamp: false }, { write: (line) => lines.push(line) });
  const keeper = new LaneKeeper(
    { store: database, lease, work, clock, metrics: createMetrics().ingest, log },
    { holder: 'a', renewEveryMs: 2_000, expireAfterMs: 6_000, acquireEveryMs: 1_000 },
  );
  const acts = {
    rival: () => void database.acquire(0, 'rival', 0).catch(() => undefined),
    change: () => keeper.change(),
    refused: () => keeper.reportLost('batch_refused'),
    reclaim: () => {
      if (world.isWorking) void keeper.reclaim().catch(() => undefined);
    },
    away: () => {
      database.faults = { ...noDatabaseFaults, unreachable: 1 };
    },
    back: () => {
      database.faults = noDatabaseFaults;
    },
  };
  return { clock, database, lease, keeper, acts, world, lines };
}

describe('the keeper of a lane, whatever happens', () => {
  it('begins and ends its work in turn, acts only while it holds the lane, and holds it again in the end', async () => {
    let begun = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(happening, { maxLength: 20 }), async (all) => {
        const { clock, keeper, lease, acts, world, lines } = worldOf();
        await keeper.start();
        for (const { what, restMs, beginMs, begins } of all) {
          Object.assign(world, { beginMs, begins });
          if (what !== undefined) acts[what]();
          await clock.advance(restMs);
          if (lease.mayAct()) expect([keeper.state, world.isWorking]).toEqual(['held', true]);
        }
        acts.back();
        Object.assign(world, { beginMs: 0, begins: true });
        expect(await clock.advanceUntil(() => keeper.state === 'held' && lease.mayAct(), 30_000)).toBe(true);
        const drained = keeper.drain(new AbortController().signal);
        await clock.advance(10_000);
        await drained;
        begun += world.begun;
        expect([keeper.state, world.isWorking, lease.mayAct()]).toEqual(['stopped', false, false]);
        expect(world.faults).toEqual([]);
        expect(lines.filter((line) => line.includes('wrong state'))).toEqual([]);
      }),
      { numRuns: 150 },
    );
    // Each run begins once. On average it is 336, and a run of this test has had from 282 to 405.
    expect(begun).toBeGreaterThan(180);
  });
});
