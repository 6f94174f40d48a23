import { describe, expect, inject, it } from 'vitest';
import { firstsByKey, freshTopics, logPublisher, numberedRows, readAll } from '../../support/servers/kafka-fixture.ts';
import { topicPrefix } from '../../support/servers/topics.ts';

const brokers = inject('kafkaBrokers');

describe('the log publisher', () => {
  it('brings rows to their topics as they are, in order per key', async () => {
    const topics = await freshTopics(brokers);
    const { publisher } = logPublisher(brokers, topics);
    await publisher.publish(numberedRows(0, 500));
    await publisher.publish([{ topic: 'continuity', key: 'account-1', payload: '{"event":"live"}' }]);
    await publisher.close();

    const records = await readAll(brokers, topics.updates);
    expect(records).toHaveLength(500);
    for (const [, numbers] of firstsByKey(records)) expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
    const marks = await readAll(brokers, topics.continuity);
    expect(marks).toMatchObject([{ key: 'account-1', value: '{"event":"live"}', partition: 0, offset: 0n }]);
  });

  it('splits what is more than one send can hold', async () => {
    const topics = await freshTopics(brokers);
    const { publisher } = logPublisher(brokers, topics);
    const large = numberedRows(0, 40).map((row) => ({ ...row, payload: `${row.payload} ${'x'.repeat(100_000)}` }));
    await publisher.publish([...numberedRows(100, 2500), ...large]);
    await publisher.close();
    expect(await readAll(brokers, topics.updates)).toHaveLength(2540);
  });

  it('says too_large when a broker refuses a record, and goes on with the next', async () => {
    const topics = await freshTopics(brokers);
    const { publisher, replaced } = logPublisher(brokers, topics);
    const tooLarge = { topic: 'updates', key: 'prediction:a', payload: 'x'.repeat(1_100_000) } as const;
    await expect(publisher.publish([tooLarge])).rejects.toMatchObject({
      name: 'PublishError',
      code: 'too_large',
      retryable: true,
    });
    await publisher.publish(numberedRows(0, 10));
    await publisher.close();
    expect(await readAll(brokers, topics.updates)).toHaveLength(10);
    expect(await replaced()).toEqual({ too_large: 1 });
  });

  it('says unknown_topic when the topic is missing, makes none, and goes on once it is there', async () => {
    const missing = `${topicPrefix()}missing`;
    const { publisher } = logPublisher(brokers, { updates: missing, continuity: missing });
    await expect(publisher.publish(numberedRows(0, 1))).rejects.toMatchObject({ code: 'unknown_topic' });
    await publisher.close();
  });

  it('says connection when no broker answers, and asks another one at the next try', async () => {
    const topics = await freshTopics(brokers);
    const { publisher } = logPublisher(['127.0.0.1:9', ...brokers], topics);
    await expect(publisher.publish(numberedRows(0, 1))).rejects.toMatchObject({ code: 'connection' });
    await publisher.publish(numberedRows(0, 1));
    await publisher.close();
  });
});
