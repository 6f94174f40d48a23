// What a user saw: "Kafka does not answer" for a user of Kafka who may write, and lacks one right.

import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createMetrics } from '../../src/observability/metrics.ts';
import { Secret } from '../../src/runtime/secret.ts';
import type { KafkaOptions } from '../../src/service/log/kafka-options.ts';
import { checkTopics } from '../../src/service/log/plan-topics.ts';
import { readTopic } from '../../src/service/log/read-topic.ts';
import type { TopicNames } from '../../src/service/log/topics.ts';
import {
  TransactionalPublisher,
  transactionalPublisherDefaults,
} from '../../src/service/log/transactional-publisher.ts';
import { eventually } from '../support/runs/poll.ts';
import { testLines } from '../support/runs/test-lines.ts';
import { freshTopics, kafkaDeps, kafkaOptions, numberedRows } from '../support/servers/kafka-fixture.ts';
import { type SecuredKafka, startSecuredKafka } from '../support/servers/secured-kafka.ts';
import { grant } from './parts/kafka-rights.ts';

let kafka: SecuredKafka;
let names: TopicNames;
let options: KafkaOptions;
beforeAll(async () => {
  kafka = await startSecuredKafka({ service: 'service-password' });
  names = await freshTopics([kafka.open]);
  options = {
    ...kafkaOptions([kafka.sasl]),
    tls: { ca: readFileSync(kafka.authority, 'utf8') },
    sasl: { mechanism: 'plain', username: 'service', password: new Secret('service-password') },
  };
  for (const name of Object.values(names))
    await grant(kafka.open, 'service', [{ on: 'TOPIC', name, may: ['DESCRIBE', 'WRITE', 'READ'] }]);
}, 120_000);
afterAll(() => kafka?.stop());

it('the settings of a topic that may not be read are a doubt that names the right; the others are compared', async () => {
  await grant(kafka.open, 'service', [{ on: 'TOPIC', name: names.state, may: ['DESCRIBE_CONFIGS'] }]);
  const unread = [names.updates, names.watermarks, names.results, names.checkpoint].map((name) =>
    expect.stringMatching(new RegExp(`${name} can't be read.*grant it DescribeConfigs`)),
  );
  await eventually(async () =>
    expect(await checkTopics(kafkaDeps, options, names)).toEqual({
      kind: 'planned',
      unready: [],
      doubts: unread,
      notes: [],
    }),
  );
});

it('a transactional id that may not be described is named, with the right that it needs', async () => {
  const publisher = new TransactionalPublisher(
    { ...kafkaDeps, metrics: createMetrics().relay },
    {
      ...{ ...transactionalPublisherDefaults, takeOverDeadlineMs: 2_000, kafka: options, topic: names.state },
      transactionalId: () => `${names.state}.lane-0`,
    },
  );
  await expect(publisher.takeOver()).rejects.toMatchObject({
    message: expect.stringMatching(/transactional id \S+\.lane-0: .*grant it Describe and Write/),
  });
  await grant(kafka.open, 'service', [
    { on: 'TRANSACTIONAL_ID', name: `${names.state}.lane-*`, may: ['DESCRIBE', 'WRITE'] },
  ]);
  await eventually(async () => {
    await publisher.takeOver();
    await publisher.flush(numberedRows(0, 3));
  });
  await publisher.close();
});

it('a group that may not be joined is named by the log, and read when it may', async () => {
  const { log, lines } = testLines();
  const reading = readTopic(
    { ...kafkaDeps, log },
    { kafka: options, topic: names.state, from: 'beginning', until: 'end', readCommitted: true },
  );
  const first = reading.next();
  await eventually(
    () => expect(JSON.stringify(lines())).toMatch(/grant it Read on groups that begin with its client id/),
    {
      deadlineMs: 60_000,
    },
  );
  await grant(kafka.open, 'service', [{ on: 'GROUP', name: `${options.clientId}*`, may: ['READ'] }]);
  expect((await first).value).toMatchObject({ value: expect.stringMatching(/^[012]$/) });
  await reading.return();
}, 90_000);
