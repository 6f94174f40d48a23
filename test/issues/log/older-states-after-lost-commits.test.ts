// What a user saw: The state topic showed an older revision of an order behind a newer one.

import { expect, it } from 'vitest';
import { Lease } from '../../../src/runtime/lease.ts';
import { PublishError, type PublishRow } from '../../../src/service/log/publisher.ts';
import { LaneLog } from '../../support/orders/lane-log.ts';
import { openRelay } from '../../support/orders/open-relay.ts';
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
  const statePublisher = {
    takeOver: async () => undefined,
    flush: async (rows: readonly PublishRow[]) => {
      flushed.push(rows);
      if (flushed.length === 1) throw new PublishError('timeout', 'the answer to the commit was lost');
    },
    close: async () => undefined,
  };
  const relay = openRelay({ log, statePublisher, lease, clock });
  await relay.start();
  relay.begin(0n);
  const first = log.commit([{ topic: 'updates', key: 'prediction:a' }]);
  const copy = log.copy();
  relay.publishCommitted(first);
  relay.publishCommitted(log.commit([{ topic: 'updates', key: 'prediction:a' }]));
  await clock.advance(10);
  expect(flushed).toHaveLength(1);
  log.restore(copy);
  await clock.advance(20_000);
  expect(flushed).toHaveLength(1);
  await relay.drain(new AbortController().signal);
});
