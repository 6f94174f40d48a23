// What a user saw: Each shard that moved by agreement was without a process for 1.3 s.

import { expect, it } from 'vitest';
import { Lease } from '../../../src/runtime/lease.ts';
import { LaneLog } from '../../support/orders/lane-log.ts';
import { openRelay } from '../../support/orders/open-relay.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

// Measured: each shard that moved by agreement was without a process for 1.3 s, and 1.0 s of it was
// the rest between two flushes of the state topic.
it('a shard that is given away does not wait for the next flush of the state topic', async () => {
  const clock = new VirtualClock();
  const log = new LaneLog(clock);
  const lease = new Lease(clock, 3_600_000);
  lease.confirm(1n, 0);
  const relay = openRelay({ log, lease, clock }, { saveEveryMs: 60_000, states: { flushEveryMs: 60_000 } });
  await relay.start();
  relay.begin(0n);
  await clock.advance(1_000);
  relay.publishCommitted(log.commit([{ topic: 'updates', key: 'prediction:a' }]));
  const beganMs = clock.monotonicMs();
  let published = false;
  const over = new AbortController();
  void relay.awaitPublished(over.signal).then(() => {
    published = true;
  });
  expect(await clock.advanceUntil(() => published, 60_000)).toBe(true);
  expect(clock.monotonicMs() - beganMs).toBeLessThanOrEqual(100);
});
