import { describe, expect, inject, it } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { Lease } from '../../../src/runtime/lease.ts';
import { StateWriter, stateWriterDefaults } from '../../../src/service/log/state-writer.ts';
import {
  TransactionalPublisher,
  transactionalPublisherDefaults,
} from '../../../src/service/log/transactional-publisher.ts';
import { LaneLog } from '../../support/orders/lane-log.ts';
import { eventually } from '../../support/runs/poll.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { freshTopics, kafkaDeps, kafkaOptions, readAll } from '../../support/servers/kafka-fixture.ts';

const brokers = inject('kafkaBrokers');

/** One process's state writer on a log that several share. */
function writerOn(log: LaneLog, topic: string): { writer: StateWriter; publisher: TransactionalPublisher } {
  const { relay } = createMetrics();
  const lease = new Lease(systemClock, 3_600_000);
  lease.confirm(log.epoch, systemClock.monotonicMs());
  const publisher = new TransactionalPublisher(
    { ...kafkaDeps, metrics: relay },
    {
      ...transactionalPublisherDefaults,
      kafka: kafkaOptions(brokers),
      topic,
      transactionalId: () => `${topic}-lane-0`,
    },
  );
  const writer = new StateWriter(
    { ...kafkaDeps, log, publisher, lease, logger: silentLog, metrics: relay },
    { ...stateWriterDefaults, flushEveryMs: 50 },
  );
  return { writer, publisher };
}

describe('the state writer on a real broker', () => {
  it('keeps the newest state of each order on the topic, over a change of holder', async () => {
    const { state } = await freshTopics(brokers);
    const log = new LaneLog(systemClock);
    const commit = (writer: StateWriter, count: number) => {
      const batch = log.commit(
        Array.from({ length: count }, (_, i) => ({ topic: 'updates', key: `prediction:${i % 7}` })),
      );
      writer.writeCommitted(batch);
    };
    const first = writerOn(log, state);
    await first.writer.start();
    first.writer.begin(log.batch);
    for (let i = 0; i < 20; i += 1) {
      commit(first.writer, 10);
      await systemClock.sleep(10);
    }
    await eventually(() => expect(log.position('state')).toBe(log.rows.at(-1)?.seq));

    // The lane goes to another process; the first one believes that it still holds it.
    log.epoch += 1n;
    const second = writerOn(log, state);
    await second.writer.start();
    second.writer.begin(log.batch);
    for (let i = 0; i < 20; i += 1) {
      commit(second.writer, 10);
      commit(first.writer, 1);
      await systemClock.sleep(10);
    }
    await eventually(() => expect(log.position('state')).toBe(log.rows.at(-1)?.seq));
    await Promise.all([first, second].map(({ writer }) => writer.drain(AbortSignal.timeout(5000))));
    await Promise.all([first, second].map(({ publisher }) => publisher.close()));

    // Kafka acknowledges a commit before readers of committed records see it.
    await eventually(async () => {
      const newest = new Map((await readAll(brokers, state)).map(({ key, value }) => [key, value]));
      expect(newest).toEqual(new Map(log.rows.map(({ key, payload }) => [key, payload])));
    });
  });
});
