// What a user saw: `tidemark tail` did not say that records had been deleted before it could read them.

// `tail` and `verify` said nothing where records were deleted before they had read them, and showed
// nothing at all of a topic that was made anew until it had grown as long as the one before.
import { Kafka, logLevel } from 'kafkajs';
import { expect, inject, it } from 'vitest';
import type { Jump, TopicRecord } from '../../../src/service/log/follow-topic.ts';
import { readTopic } from '../../../src/service/log/read-topic.ts';
import { eventually } from '../../support/runs/poll.ts';
import {
  freshTopics,
  kafkaDeps,
  kafkaOptions,
  logPublisher,
  numberedRows,
} from '../../support/servers/kafka-fixture.ts';

const brokers = inject('kafkaBrokers');
const kafka = kafkaOptions(brokers);

async function admin() {
  const client = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING }).admin();
  await client.connect();
  return { client, [Symbol.asyncDispose]: () => client.disconnect() };
}

/** A reader of the whole topic, which stops taking records while it is held. */
function reader(topic: string) {
  const stop = new AbortController();
  const seen: TopicRecord[] = [];
  const jumps: Jump[] = [];
  let hold = Promise.resolve();
  const options = { kafka, topic, from: 'beginning', readCommitted: true, signal: stop.signal } as const;
  const reading = (async () => {
    for await (const record of readTopic(kafkaDeps, {
      ...options,
      onFailure: () => undefined,
      onJump: (jump) => jumps.push(jump),
    })) {
      await hold;
      seen.push(record);
    }
  })();
  const held = () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    hold = promise;
    return resolve;
  };
  const end = async () => {
    stop.abort();
    await reading;
  };
  return { seen, jumps, held, end };
}

it('names the records that were deleted while a reader was slow', async () => {
  const topics = await freshTopics(brokers);
  const { publisher } = logPublisher(brokers, topics);
  await publisher.publish(numberedRows(0, 300));
  const { seen, jumps, held, end } = reader(topics.updates);
  await eventually(() => expect(seen).toHaveLength(300));
  const release = held();
  await publisher.publish(numberedRows(300, 300));
  await publisher.publish(numberedRows(600, 300));
  await using made = await admin();
  const ends = await made.client.fetchTopicOffsets(topics.updates);
  await made.client.deleteTopicRecords({
    topic: topics.updates,
    partitions: ends.map(({ partition, high }) => ({ partition, offset: high })),
  });
  release();
  await publisher.publish(numberedRows(900, 300));
  await eventually(() => expect(seen.some(({ value }) => Number(value) >= 900)).toBe(true));
  await eventually(() => {
    // What is neither given nor named would be the silent loss.
    const lost = jumps.reduce((sum, { from, to }) => sum + Number(to - from), 0);
    expect(seen.length + lost).toBe(1200);
  });
  expect(jumps.length).toBeGreaterThan(0);
  await end();
  await publisher.close();
});

it('reads a topic that was made anew from its beginning, and names it', async () => {
  const topics = await freshTopics(brokers);
  const { publisher } = logPublisher(brokers, topics);
  await publisher.publish(numberedRows(0, 600));
  const { seen, jumps, end } = reader(topics.updates);
  await eventually(() => expect(seen).toHaveLength(600));
  await using made = await admin();
  const numPartitions = new Set(seen.map(({ partition }) => partition)).size;
  await made.client.deleteTopics({ topics: [topics.updates] });
  await eventually(async () => {
    await made.client.createTopics({
      waitForLeaders: true,
      topics: [{ topic: topics.updates, numPartitions, replicationFactor: 1 }],
    });
    expect(await made.client.listTopics()).toContain(topics.updates);
  });
  const again = logPublisher(brokers, topics);
  await eventually(() => again.publisher.publish(numberedRows(10_000, 60)));
  await eventually(() => expect(seen.filter(({ value }) => Number(value) >= 10_000).length).toBeGreaterThanOrEqual(60));
  expect(jumps.every(({ from, to }) => to === 0n && from > 0n)).toBe(true);
  expect(jumps.length).toBeGreaterThan(0);
  await end();
  await Promise.all([publisher.close(), again.publisher.close()]);
});
