// What a user saw: With Kafka away, a stopping service kept its lane for long, and the standby waited.

import { expect, it } from 'vitest';
import { Lease } from '../../../src/runtime/lease.ts';
import { PublishError, type StatePublisher } from '../../../src/service/log/publisher.ts';
import { LaneLog } from '../../support/orders/lane-log.ts';
import { openRelay } from '../../support/orders/open-relay.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

// Found by reading: with Kafka away, a drain slept out the backoff of the state
// writer and then waited for one more try with its whole deadline. The lane stays
// ours for as long, and the standby waits.
it('ends at once when the state topic could not be written a moment ago', async () => {
  const clock = new VirtualClock();
  const log = new LaneLog(clock);
  const lease = new Lease(clock, 3_600_000);
  lease.confirm(1n, 0);
  let tries = 0;
  const away: StatePublisher = {
    takeOver: async () => {
      tries += 1;
      await clock.sleep(15_000);
      throw new PublishError('timeout', 'the broker is frozen');
    },
    flush: async () => undefined,
    close: async () => undefined,
  };
  const relay = openRelay(
    { log, statePublisher: away, lease, clock },
    { states: { backoff: { firstMs: 60_000, maxMs: 60_000 } } },
  );
  await relay.start();
  relay.begin(0n);
  relay.publishCommitted(log.commit([{ topic: 'updates', key: 'prediction:a' }]));
  await clock.advance(15_100);
  expect(tries).toBe(1);
  const beganMs = clock.monotonicMs();
  let drained = false;
  void relay.drain(new AbortController().signal).then(() => {
    drained = true;
  });
  expect(await clock.advanceUntil(() => drained, 60_000)).toBe(true);
  expect([tries, clock.monotonicMs() - beganMs]).toEqual([1, 0]);
});
