// What a user saw: A process gave a lane that it had just taken back, for a wish of its last term.

import { expect, it } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { Lease } from '../../../src/runtime/lease.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { LaneKeeper } from '../../../src/service/fleet/lane-keeper.ts';
import { MemoryDatabase } from '../../simulation/world/memory-database.ts';
import { testLog } from '../../support/runs/test-log.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

// The look at the fleet that asks for another lane may still run when the term is lost.
it('keeps a lane that it takes after the term ended in which a change was asked for', async () => {
  const clock = new VirtualClock();
  const database = new MemoryDatabase(clock, seededRandom(1));
  const calls: string[] = [];
  const work = { begin: async () => void calls.push('begin'), end: async () => void calls.push('end') };
  const log = testLog.child({}, { level: 'silent' });
  const deps = { store: database, lease: new Lease(clock, 3000), work, clock, metrics: createMetrics().ingest, log };
  const keeper = new LaneKeeper(deps, { holder: 'a', renewEveryMs: 2000, expireAfterMs: 6000, acquireEveryMs: 1000 });
  await keeper.start();
  await clock.advance(100);
  keeper.reportLost('batch_refused');
  await clock.advance(10);
  keeper.change();
  await clock.advance(30_000);
  expect(calls).toEqual(['begin', 'end', 'begin']);
  const drained = keeper.drain(new AbortController().signal);
  await clock.advance(100);
  await drained;
});
