// What a user saw: Nothing could be read back from a topic after an operator had set its compression.type.

import { randomBytes } from 'node:crypto';
import kafkajs from 'kafkajs';
import { expect, inject, it } from 'vitest';
import type { LogRow } from '../../../src/domain/committed-batch.ts';
import { readTopic } from '../../../src/service/log/read-topic.ts';
import { withAdmin } from '../../../src/service/log/with-admin.ts';
import { freshTopics, kafkaDeps, kafkaOptions, logPublisher } from '../../support/servers/kafka-fixture.ts';

const { ConfigResourceTypes } = kafkajs;

const brokers = inject('kafkaBrokers');

/** Texts that can be packed well, badly and not at all, some longer than a codec's block. */
const payloads = [
  ...Array.from({ length: 300 }, (_, i) => JSON.stringify({ orderId: `order-${i}`, status: 'working', revision: i })),
  'a'.repeat(200_000),
  randomBytes(60_000).toString('base64'),
  ...Array.from({ length: 20 }, (_, i) => `${randomBytes(i * 7).toString('hex')}${'xyz'.repeat(i * 11)}`),
];
/** One key, so that large batches are compressed as one. */
const rows = payloads.map((payload): LogRow => ({ topic: 'updates', key: 'order', payload }));

it.each([
  ['compression.type', 'gzip'],
  ['compression.type', 'snappy'],
  ['compression.type', 'lz4'],
  ['compression.type', 'zstd'],
  ['message.timestamp.type', 'LogAppendTime'],
])('%s=%s', async (name, value) => {
  const topics = await freshTopics(brokers);
  await withAdmin(kafkaDeps, kafkaOptions(brokers), (admin) =>
    admin.alterConfigs({
      validateOnly: false,
      resources: [{ type: ConfigResourceTypes.TOPIC, name: topics.updates, configEntries: [{ name, value }] }],
    }),
  );
  const { publisher } = logPublisher(brokers, topics);
  await publisher.publish(rows);
  await publisher.close();
  const over = new AbortController();
  const failures: string[] = [];
  const found: (string | undefined)[] = [];
  const records = readTopic(kafkaDeps, {
    ...{ kafka: kafkaOptions(brokers), topic: topics.updates, from: 'beginning', until: 'end' },
    ...{ readCommitted: true, signal: over.signal },
    onFailure: (err) => {
      failures.push(String(err));
      // A new cluster has no coordinator for a moment.
      if (failures.length === 5) over.abort();
    },
  });
  for await (const record of records) found.push(record.value);
  expect(failures.filter((failure) => /compression/.test(failure))).toEqual([]);
  expect(found).toEqual(payloads);
});
