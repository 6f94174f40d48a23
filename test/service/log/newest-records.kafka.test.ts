import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, inject, it, onTestFinished } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { newestRecords } from '../../../src/service/log/newest-records.ts';
import {
  TransactionalPublisher,
  transactionalPublisherDefaults,
} from '../../../src/service/log/transactional-publisher.ts';
import { eventually } from '../../support/runs/poll.ts';
import { freshTopics, kafkaDeps, kafkaOptions, logPublisher, readAll } from '../../support/servers/kafka-fixture.ts';

it('the newest records of a topic are the last of each partition, and none of an empty one', async () => {
  const brokers = inject('kafkaBrokers');
  const topics = await freshTopics(brokers);
  const newest = () => newestRecords(kafkaDeps, kafkaOptions(brokers), topics.updates, 5_000);
  expect(await newest()).toEqual([]);
  const { publisher } = logPublisher(brokers, topics);
  for (let round = 0; round < 3; round += 1) {
    const rows = Array.from({ length: 7 }, (_, i) => ({
      topic: 'updates' as const,
      key: `account:o-${i}`,
      payload: `${round} ${i}`,
    }));
    await publisher.publish(rows);
  }
  await publisher.close();
  const last = new Map((await readAll(brokers, topics.updates)).map((record) => [record.partition, record]));
  const ends = new Map((await newest()).map((record) => [record.partition, record]));
  expect(ends).toEqual(last);
});

it('the newest records of a topic of transactions are there too, though each transaction ends with an offset of its own', async () => {
  const brokers = inject('kafkaBrokers');
  const { state: topic } = await freshTopics(brokers);
  const kafka = kafkaOptions(brokers);
  const publisher = new TransactionalPublisher(
    { ...kafkaDeps, metrics: createMetrics().relay },
    { ...transactionalPublisherDefaults, kafka, topic, transactionalId: () => topic },
  );
  await publisher.takeOver();
  for (let round = 0; round < 3; round += 1)
    await publisher.flush(
      Array.from({ length: 7 }, (_, i) => ({
        topic: 'updates' as const,
        key: `account:o-${i}`,
        payload: `${round} ${i}`,
      })),
    );
  await publisher.close();
  // Kafka acknowledges a commit before readers of committed records see it.
  const newestOfAll = await eventually(async () => {
    const all = await readAll(brokers, topic);
    expect(all).toHaveLength(21);
    return new Map(all.map((record) => [record.partition, record]));
  });
  const ends = new Map(
    (await newestRecords(kafkaDeps, kafka, topic, 5_000)).map((record) => [record.partition, record]),
  );
  expect(ends).toEqual(newestOfAll);
});

it('any broker that answers is enough, also where the first of them is down or says nothing', async () => {
  const brokers = inject('kafkaBrokers');
  const topics = await freshTopics(brokers);
  const { publisher } = logPublisher(brokers, topics);
  await publisher.publish([{ topic: 'updates', key: 'account:o-1', payload: 'one' }]);
  await publisher.close();
  const mute = createServer(() => undefined);
  onTestFinished(() => void mute.close());
  await once(mute.listen(0, '127.0.0.1'), 'listening');
  const { port } = mute.address() as AddressInfo;
  for (const first of ['127.0.0.1:1', `127.0.0.1:${port}`])
    expect(await newestRecords(kafkaDeps, kafkaOptions([first, ...brokers]), topics.updates, 10_000)).toMatchObject([
      { value: 'one' },
    ]);
});
