// What a user saw: After the database lost commits, a process held a lane for ever and did nothing with it.

import { expect, it } from 'vitest';
import { Lease } from '../../../src/runtime/lease.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

// Found by seed 3773 of the runs in which the database loses commits: it came back without two
// takings of the lane, so the next one got an epoch that the process had held before. Its lease
// took that for a late answer to its last term: it renewed the lane for ever, so that no other
// process took it, and did nothing with it.
it.each([
  ['the same epoch', 7n],
  ['a lower one', 4n],
])('allows to act under %s as the term that was lost', async (_, epoch) => {
  const clock = new VirtualClock();
  const lease = new Lease(clock, 3000);
  lease.take(7n, clock.monotonicMs());
  lease.lose();
  lease.confirm(7n, clock.monotonicMs());
  expect(lease.mayAct()).toBe(false);
  lease.take(epoch, clock.monotonicMs());
  expect([lease.epoch, lease.mayAct()]).toEqual([epoch, true]);
  await clock.advance(2999);
  lease.confirm(epoch, clock.monotonicMs());
  await clock.advance(2999);
  expect(lease.mayAct()).toBe(true);
});
