// What a user saw: The state topic showed an older revision of an order behind a newer one.

import { expect, it } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { Lease } from '../../../src/runtime/lease.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { PublishError, type PublishRow } from '../../../src/service/log/publisher.ts';
import { StateWriter, stateWriterDefaults } from '../../../src/service/log/state-writer.ts';
import { LaneLog } from '../../support/orders/lane-log.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

// Found by the simulator (losing seed 60). The answer to a flush was lost, and the database came
// back without its rows. The writer read the log again, and put what it found there on the topic: a
// revision behind the next one.
it('puts no older state on the topic when the database came back without what a flush may have written', async () => {
  const clock = new VirtualClock();
  const log = new LaneLog(clock);
  const lease = new Lease(clock, 3_600_000);
  lease.confirm(1n, 0);
  const flushed: (readonly PublishRow[])[] = [];
  const publisher = {
    takeOver: async () => undefined,
    flush: async (rows: readonly PublishRow[]) => {
      flushed.push(rows);
      if (flushed.length === 1) throw new PublishError('timeout', 'the answer to the commit was lost');
    },
    close: async () => undefined,
  };
  const { relay: metrics } = createMetrics();
  const writer = new StateWriter(
    { log, publisher, lease, clock, random: seededRandom(3), logger: silentLog, metrics },
    stateWriterDefaults,
  );
  await writer.start();
  writer.begin(0n);
  const first = log.commit([{ topic: 'updates', key: 'prediction:a' }]);
  const copy = log.copy();
  writer.writeCommitted(first);
  writer.writeCommitted(log.commit([{ topic: 'updates', key: 'prediction:a' }]));
  await clock.advance(10);
  expect(flushed).toHaveLength(1);
  log.restore(copy);
  await clock.advance(20_000);
  expect(flushed).toHaveLength(1);
  await writer.drain(new AbortController().signal);
});
