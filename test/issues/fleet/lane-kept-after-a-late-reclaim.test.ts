// What a user saw: After a stop, the standby had to wait for the lease to run out before it could begin.

import { expect, it } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { Lease } from '../../../src/runtime/lease.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { LaneKeeper } from '../../../src/service/fleet/lane-keeper.ts';
import { MemoryDatabase } from '../../simulation/world/memory-database.ts';
import { testLog } from '../../support/runs/test-log.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

// Found by reading: ingest was waiting for a reclaim when the service was told to stop. The reclaim
// raised the epoch behind the keeper's back, so the lane was given back under an epoch that it no
// longer had, and the standby waited for the lease to expire.
it('gives the lane back, and may act no more, when a reclaim ends while its work does', async () => {
  const clock = new VirtualClock();
  const database = new MemoryDatabase(clock, seededRandom(1));
  const lease = new Lease(clock, 3000);
  const metrics = createMetrics().ingest;
  let reclaiming: Promise<unknown> = Promise.resolve();
  const keeper: LaneKeeper = new LaneKeeper(
    {
      store: database,
      lease,
      work: {
        begin: async () => undefined,
        end: async () => {
          await reclaiming;
        },
      },
      clock,
      metrics,
      log: testLog.child({}, { level: 'silent' }),
    },
    { holder: 'a', renewEveryMs: 2000, expireAfterMs: 6000, acquireEveryMs: 1000 },
  );
  await keeper.start();
  await clock.advance(100);
  reclaiming = keeper.reclaim();
  const drained = keeper.drain(new AbortController().signal);
  await clock.advance(100);
  await drained;
  expect(lease.mayAct()).toBe(false);
  expect((await metrics.laneHeld.get()).values[0]?.value).toBe(0);
  const next = database.acquire(0, 'b', 6000);
  await clock.advance(100);
  expect(await next).toMatchObject({ kind: 'held' });
});
