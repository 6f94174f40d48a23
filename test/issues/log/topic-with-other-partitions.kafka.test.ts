// What a user saw: Consumers got the updates of one order in a wrong order after a topic got more partitions.

import { expect, inject, it } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { plannedPartitions, type TopicNames, topicSpecs } from '../../../src/service/log/topics.ts';
import {
  TransactionalPublisher,
  transactionalPublisherDefaults,
} from '../../../src/service/log/transactional-publisher.ts';
import { withAdmin } from '../../../src/service/log/with-admin.ts';
import { eventually } from '../../support/runs/poll.ts';
import {
  freshTopics,
  kafkaDeps,
  kafkaOptions,
  logPublisher,
  numberedRows,
  readAll,
} from '../../support/servers/kafka-fixture.ts';

const brokers = inject('kafkaBrokers');
const withTwo = (names: TopicNames) => topicSpecs(names).map((spec) => ({ ...spec, partitions: 2 }));
const refusal = { name: 'PublishError', code: 'wrong_partitions', retryable: true };

// Found by reading: readiness said that a topic had another count of partitions than
// planned, and the relay went on writing to it. Keys went to other partitions than every
// consumer and every later writer would look for them on, and the order of an order's
// updates was gone for the life of the topic.
it('is not written to while its count of partitions is not the planned one', async () => {
  const topics = await freshTopics(brokers, withTwo);
  const planned = plannedPartitions(topics);
  const { publisher, replaced } = logPublisher(brokers, topics, { planned });
  await expect(publisher.publish(numberedRows(0, 10))).rejects.toMatchObject(refusal);
  await expect(publisher.publish([{ topic: 'outcomes', key: 'c', payload: '1' }])).rejects.toMatchObject(refusal);
  expect([await readAll(brokers, topics.updates), await readAll(brokers, topics.outcomes)]).toEqual([[], []]);
  await withAdmin(kafkaDeps, kafkaOptions(brokers), (admin) =>
    admin.createPartitions({ topicPartitions: [{ topic: topics.updates, count: 12 }] }),
  );
  // The leaders of the new partitions hear of them one after the other,
  // so parts of it may be sent more than once.
  await eventually(() => publisher.publish(numberedRows(0, 10)));
  await publisher.close();
  expect(new Set((await readAll(brokers, topics.updates)).map(({ value }) => value)).size).toBe(10);
  expect((await replaced())['wrong_partitions']).toBeGreaterThanOrEqual(2);
});

it('is not written to by a transaction either', async () => {
  const topics = await freshTopics(brokers, withTwo);
  const options = { kafka: kafkaOptions(brokers), topic: topics.state, transactionalId: () => topics.state };
  const publisher = new TransactionalPublisher(
    { ...kafkaDeps, metrics: createMetrics().relay },
    { ...transactionalPublisherDefaults, ...options, planned: plannedPartitions(topics) },
  );
  await publisher.takeOver();
  await expect(publisher.flush(numberedRows(0, 10))).rejects.toMatchObject(refusal);
  await publisher.close();
  expect(await readAll(brokers, topics.state)).toEqual([]);
});
