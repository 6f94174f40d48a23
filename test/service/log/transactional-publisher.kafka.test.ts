import { describe, expect, inject, it } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import type { TopicRecord } from '../../../src/service/log/follow-topic.ts';
import {
  TransactionalPublisher,
  transactionalPublisherDefaults,
} from '../../../src/service/log/transactional-publisher.ts';
import { eventually } from '../../support/runs/poll.ts';
import { freshTopics, kafkaDeps, kafkaOptions, numberedRows, readAll } from '../../support/servers/kafka-fixture.ts';

const brokers = inject('kafkaBrokers');

function writer(topic: string, onFenced: () => void = () => undefined): TransactionalPublisher {
  return new TransactionalPublisher(
    { ...kafkaDeps, metrics: createMetrics().relay, onFenced },
    {
      ...transactionalPublisherDefaults,
      kafka: kafkaOptions(brokers),
      topic,
      transactionalId: () => `${topic}-lane-0`,
    },
  );
}

/**
 * All committed records, once there are so many: Kafka acknowledges a commit before readers of
 * committed records see it.
 */
function committed(topic: string, count: number): Promise<TopicRecord[]> {
  return eventually(async () => {
    const records = await readAll(brokers, topic);
    expect(records).toHaveLength(count);
    return records;
  });
}

describe('the state publisher', () => {
  it('writes each flush as one transaction, one flush right behind the other', async () => {
    const { state } = await freshTopics(brokers);
    const publisher = writer(state);
    await publisher.takeOver();
    for (let i = 0; i < 5; i += 1) await publisher.flush(numberedRows(i * 10, 10));
    await publisher.flush(numberedRows(100, 2500, 5000));
    await publisher.close();
    await committed(state, 2550);
  });

  it('that was fenced writes nothing that a reader of committed records sees', async () => {
    const { state } = await freshTopics(brokers);
    const told: string[] = [];
    const [older, newer] = [writer(state, () => told.push('older')), writer(state, () => told.push('newer'))];
    await older.takeOver();
    await older.flush(numberedRows(0, 3));
    await newer.takeOver();
    await expect(older.flush(numberedRows(1000, 3))).rejects.toMatchObject({ code: 'fenced' });
    expect(told).toEqual(['older']);
    await newer.flush(numberedRows(10, 3));
    await expect(older.flush(numberedRows(2000, 3))).rejects.toMatchObject({ code: 'unavailable' });
    await Promise.all([older.close(), newer.close()]);
    const values = (await committed(state, 6)).map(({ value }) => Number(value));
    expect(values.sort((a, b) => a - b)).toEqual([0, 1, 2, 10, 11, 12]);
    expect(told, 'being no writer any more is no fence').toEqual(['older']);
  });

  it('that dies in the middle of a flush leaves nothing behind once the next one has taken over', async () => {
    const { state } = await freshTopics(brokers);
    const dying = writer(state);
    await dying.takeOver();
    // Larger than one send, and the second piece is refused: the
    // first lies on the topic, uncommitted.
    const poison = { topic: 'updates', key: 'prediction:poison', payload: 'x'.repeat(1_100_000) } as const;
    await expect(dying.flush([...numberedRows(0, 10), poison])).rejects.toMatchObject({ code: 'too_large' });
    const next = writer(state);
    await next.takeOver();
    await next.flush(numberedRows(20, 2));
    await next.close();
    const values = (await committed(state, 2)).map(({ value }) => Number(value));
    expect(values.sort((a, b) => a - b)).toEqual([20, 21]);
    expect(await readAll(brokers, state, false)).toHaveLength(12);
  });

  it('says so when it is asked to flush before it took over', async () => {
    await expect(writer('any').flush(numberedRows(0, 1))).rejects.toMatchObject({ code: 'unavailable' });
  });
});
