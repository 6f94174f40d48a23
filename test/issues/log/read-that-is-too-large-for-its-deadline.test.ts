// What a user saw: Nothing reached Kafka any more once a read of large rows was over its time limit.

import { expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { LossyPublisher } from '../../support/orders/lossy-publisher.ts';
import { RunningRelay } from '../../support/orders/running-relay.ts';
import { eventually } from '../../support/runs/poll.ts';

// Found by reading: the relay asked for 1,000 rows whatever their size. With rows of
// 300 kB such a read fails at the query's deadline, and the same read was tried again
// for ever: nothing reached Kafka any more.
it('asks for fewer rows when a read fails, until one comes through', async () => {
  const publisher = new LossyPublisher(systemClock, seededRandom(1));
  const running = new RunningRelay(publisher);
  const { log, relay } = running;
  const read = log.readAfter.bind(log);
  log.readAfter = async (lane, afterSeq, limit) => {
    if (limit > 100) throw new Error('Query read timeout');
    return read(lane, afterSeq, limit);
  };
  for (let i = 0; i < 5; i += 1)
    log.commit(Array.from({ length: 100 }, (_, n) => ({ topic: 'updates', key: `prediction:${n}` })));
  await relay.start();
  onTestFinished(() => running.drain());
  relay.begin(5n);
  await eventually(async () => {
    if (publisher.arrived.length < 500) throw new Error(`${publisher.arrived.length} rows arrived`);
  });
  expect(publisher.arrived).toHaveLength(500);
});
