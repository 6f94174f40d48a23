// What a user saw: A standby that was being stopped still opened sockets and began to read accounts.

import { expect, it } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { Lease } from '../../../src/runtime/lease.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { LaneKeeper } from '../../../src/service/fleet/lane-keeper.ts';
import { MemoryDatabase } from '../../simulation/world/memory-database.ts';
import { testLog } from '../../support/runs/test-log.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

// Found by reading: a standby that was told to stop while it was asking for the lane began
// everything (sockets, reads, batches), behind parts that had drained already.
it('begins nothing when it gets the lane after it was told to stop, and gives it back', async () => {
  const clock = new VirtualClock();
  const database = new MemoryDatabase(clock, seededRandom(1));
  const calls: string[] = [];
  const work = { begin: async () => void calls.push('begin'), end: async () => void calls.push('end') };
  const lease = new Lease(clock, 3000);
  const log = testLog.child({}, { level: 'silent' });
  const deps = { store: database, lease, work, clock, metrics: createMetrics().ingest, log };
  const keeper = new LaneKeeper(deps, { holder: 'a', renewEveryMs: 2000, expireAfterMs: 6000, acquireEveryMs: 1000 });
  await keeper.start();
  const drained = keeper.drain(new AbortController().signal);
  await clock.advance(100);
  await drained;
  expect(calls).toEqual([]);
  expect(lease.mayAct()).toBe(false);
  const next = database.acquire(0, 'b', 6000);
  await clock.advance(100);
  expect(await next).toMatchObject({ kind: 'held' });
});
