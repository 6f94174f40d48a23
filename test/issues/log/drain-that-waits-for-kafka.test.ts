// What a user saw: With Kafka away, a stopping service kept its lane for long, and the standby waited.

import { expect, it } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { Lease } from '../../../src/runtime/lease.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { PublishError, type StatePublisher } from '../../../src/service/log/publisher.ts';
import { StateWriter, stateWriterDefaults } from '../../../src/service/log/state-writer.ts';
import { LaneLog } from '../../support/orders/lane-log.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
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
  const { relay: metrics } = createMetrics();
  const writer = new StateWriter(
    { log, publisher: away, lease, clock, random: seededRandom(3), logger: silentLog, metrics },
    { ...stateWriterDefaults, backoff: { firstMs: 60_000, maxMs: 60_000 } },
  );
  await writer.start();
  writer.begin(0n);
  writer.writeCommitted(log.commit([{ topic: 'updates', key: 'prediction:a' }]));
  await clock.advance(15_100);
  expect(tries).toBe(1);
  const beganMs = clock.monotonicMs();
  let drained = false;
  void writer.drain(new AbortController().signal).then(() => {
    drained = true;
  });
  expect(await clock.advanceUntil(() => drained, 60_000)).toBe(true);
  expect([tries, clock.monotonicMs() - beganMs]).toEqual([1, 0]);
});
