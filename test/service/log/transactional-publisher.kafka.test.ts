import { describe, expect, inject, it } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import type { TopicRecord } from '../../../src/service/log/follow-topic.ts';
import { PieceSize, sendLimits } from '../../../src/service/log/publish-sends.ts';
import { plannedPartitions, type TopicNames, type TopicSpec, topicSpecs } from '../../../src/service/log/topics.ts';
import {
  TransactionalPublisher,
  transactionalPublisherDefaults,
} from '../../../src/service/log/transactional-publisher.ts';
import { withAdmin } from '../../../src/service/log/with-admin.ts';
import { eventually } from '../../support/runs/poll.ts';
import {
  firstsByKey,
  freshTopics,
  kafkaDeps,
  kafkaOptions,
  logPublisher,
  numberedRows,
  readAll,
} from '../../support/servers/kafka-fixture.ts';

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

describe('issue: A topic took less than the plan, and nothing came any more, though each record fitted.', () => {
  const brokers = inject('kafkaBrokers');

  /** As planned, but for what a batch of records may hold. */
  const takingLittle = (names: TopicNames): readonly TopicSpec[] =>
    topicSpecs(names).map((spec) => ({ ...spec, settings: { ...spec.settings, 'max.message.bytes': '20000' } }));

  /** 1 MB, of which each of four keys has a quarter. */
  const many = numberedRows(0, 200, 4).map((row) => ({ ...row, payload: row.payload.padStart(5000, '0') }));
  const large = { topic: 'updates', key: 'prediction:large', payload: '1'.repeat(30_000) } as const;

  const expectAllInOrder = (records: readonly TopicRecord[]) => {
    const firsts = [...firstsByKey(records).values()];
    expect(firsts.flat()).toHaveLength(many.length);
    for (const numbers of firsts) expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
  };

  describe('a topic whose max.message.bytes is below the plan', () => {
    it('gets smaller pieces, at once and from then on, in order for each key', async () => {
      const topics = await freshTopics(brokers, takingLittle);
      const { publisher, replaced } = logPublisher(brokers, topics);
      await publisher.publish(many);
      const refusals = await replaced();
      await publisher.publish(many.slice(0, 50));
      await publisher.close();
      expect(await replaced(), 'the second send knew').toEqual(refusals);
      expectAllInOrder(await readAll(brokers, topics.updates));
    });

    it('is asked for the lease before each smaller piece', async () => {
      const topics = await freshTopics(brokers, takingLittle);
      const { publisher } = logPublisher(brokers, topics);
      let asked = 0;
      const mayAct = () => {
        asked += 1;
        return asked < 2;
      };
      await expect(publisher.publish(many, mayAct)).rejects.toMatchObject({ code: 'lease' });
      await publisher.close();
    });

    it('refuses one larger record, which the error names, once those before it are there', async () => {
      const topics = await freshTopics(brokers, takingLittle);
      const { publisher } = logPublisher(brokers, topics);
      await expect(publisher.publish([...many, large])).rejects.toMatchObject({
        code: 'too_large',
        message: expect.stringMatching(/the record of prediction:large has 30036 bytes, more than max\.message\.bytes/),
      });
      await expect(publisher.publish([...many, large])).rejects.toMatchObject({ code: 'too_large' });
      await publisher.close();
      const records = await readAll(brokers, topics.updates);
      expectAllInOrder(records);
      expect(records, 'no try repeats them').toHaveLength(many.length);
    });

    it('gets smaller pieces of states too, in a transaction that a few tries find', async () => {
      const { state } = await freshTopics(brokers, takingLittle);
      const publisher = new TransactionalPublisher(
        { ...kafkaDeps, metrics: createMetrics().relay },
        { ...transactionalPublisherDefaults, kafka: kafkaOptions(brokers), topic: state, transactionalId: () => state },
      );
      let refusals = 0;
      await eventually(
        async () => {
          await publisher.takeOver();
          await publisher.flush(many).catch((error) => {
            refusals += 1;
            throw error;
          });
        },
        { everyMs: 1, giveUp: () => refusals > 12 },
      );
      await eventually(async () => expectAllInOrder(await readAll(brokers, state)));
      await publisher.takeOver();
      await expect(publisher.flush([large])).rejects.toMatchObject({
        message: expect.stringMatching(/the record of prediction:large/),
      });
      await publisher.close();
    });
  });

  it('a topic that is as planned again gets large pieces again', () => {
    const size = new PieceSize();
    expect(size.refused(many)).toBe(true);
    const small = size.split(many).length;
    for (let sends = 0; sends < 2000; sends += 1) size.took();
    expect(size.split(many).length).toBeLessThan(small);
    const half = many.slice(0, 170);
    expect(half.length * 5036).toBeLessThan(sendLimits.maxBytes);
    expect(size.split(half)).toHaveLength(1);
  });
});

describe('issue: Consumers got the updates of one order in a wrong order after a topic got more partitions.', () => {
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
    await expect(publisher.publish([{ topic: 'results', key: 'c', payload: '1' }])).rejects.toMatchObject(refusal);
    expect([await readAll(brokers, topics.updates), await readAll(brokers, topics.results)]).toEqual([[], []]);
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
});
