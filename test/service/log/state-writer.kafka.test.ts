import { describe, expect, inject, it } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { Lease } from '../../../src/runtime/lease.ts';
import type { Relay } from '../../../src/service/log/relay.ts';
import {
  TransactionalPublisher,
  transactionalPublisherDefaults,
} from '../../../src/service/log/transactional-publisher.ts';
import { LaneLog } from '../../support/orders/lane-log.ts';
import { openRelay } from '../../support/orders/open-relay.ts';
import { eventually } from '../../support/runs/poll.ts';
import { freshTopics, kafkaDeps, kafkaOptions, readAll } from '../../support/servers/kafka-fixture.ts';

const brokers = inject('kafkaBrokers');

/** One process's relay, on a log that several share, with a real writer of the state topic. */
function relayOn(log: LaneLog, topic: string): { relay: Relay; publisher: TransactionalPublisher } {
  const metrics = createMetrics();
  const lease = new Lease(systemClock, 3_600_000);
  lease.confirm(log.epoch, systemClock.monotonicMs());
  const publisher = new TransactionalPublisher(
    { ...kafkaDeps, metrics: metrics.relay },
    {
      ...transactionalPublisherDefaults,
      kafka: kafkaOptions(brokers),
      topic,
      transactionalId: () => `${topic}-lane-0`,
    },
  );
  const on = { clock: systemClock, log, lease, metrics, statePublisher: publisher };
  return { relay: openRelay(on, { states: { flushEveryMs: 50 } }), publisher };
}

describe('the state writer on a real broker', () => {
  it('keeps the newest state of each order on the topic, over a change of holder', async () => {
    const { state } = await freshTopics(brokers);
    const log = new LaneLog(systemClock);
    const commit = (relay: Relay, count: number) => {
      const batch = log.commit(
        Array.from({ length: count }, (_, i) => ({ topic: 'updates', key: `prediction:${i % 7}` })),
      );
      relay.publishCommitted(batch);
    };
    const first = relayOn(log, state);
    await first.relay.start();
    first.relay.begin(log.batch);
    for (let i = 0; i < 20; i += 1) {
      commit(first.relay, 10);
      await systemClock.sleep(10);
    }
    await eventually(() => expect(log.position('state')).toBe(log.rows.at(-1)?.seq));

    // The lane goes to another process; the first one believes that it still holds it.
    log.epoch += 1n;
    const second = relayOn(log, state);
    await second.relay.start();
    second.relay.begin(log.batch);
    for (let i = 0; i < 20; i += 1) {
      commit(second.relay, 10);
      commit(first.relay, 1);
      await systemClock.sleep(10);
    }
    await eventually(() => expect(log.position('state')).toBe(log.rows.at(-1)?.seq));
    await Promise.all([first, second].map(({ relay }) => relay.drain(AbortSignal.timeout(5000))));
    await Promise.all([first, second].map(({ publisher }) => publisher.close()));

    // Kafka acknowledges a commit before readers of committed records see it.
    await eventually(async () => {
      const newest = new Map((await readAll(brokers, state)).map(({ key, value }) => [key, value]));
      expect(newest).toEqual(new Map(log.rows.map(({ key, payload }) => [key, payload])));
    });
  });
});
