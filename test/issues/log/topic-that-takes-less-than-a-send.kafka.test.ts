// What a user saw: A topic took less than the plan, and nothing came any more, though each record fitted.

import { describe, expect, inject, it } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import type { TopicRecord } from '../../../src/service/log/follow-topic.ts';
import { PieceSize, sendLimits } from '../../../src/service/log/publish-sends.ts';
import { type TopicNames, type TopicSpec, topicSpecs } from '../../../src/service/log/topics.ts';
import {
  TransactionalPublisher,
  transactionalPublisherDefaults,
} from '../../../src/service/log/transactional-publisher.ts';
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
    await expect(publisher.publish(many, () => false)).rejects.toMatchObject({ code: 'lease' });
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
