import { expect, inject, it } from 'vitest';
import { newestRecords } from '../../../src/service/log/newest-records.ts';
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
