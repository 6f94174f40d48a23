import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { topicSpecs } from '../../../src/service/log/topics.ts';
import { checkpointing, checkpointsOf } from '../../support/orders/checkpointing.ts';
import { freshTopics, readAll } from '../../support/servers/kafka-fixture.ts';

const brokers = inject('kafkaBrokers');

describe('the checkpoint of a batch, on a real broker', () => {
  it('is alone before the first send, and goes along with each send after it', async () => {
    const topics = await freshTopics(brokers);
    const { send, alone } = checkpointing(brokers, topics);
    const reader = checkpointsOf(brokers, topics);
    for (let batch = 1n; batch <= 20n; batch += 1n) {
      await send(batch);
      expect(await reader.read()).toEqual([expect.objectContaining({ lane: 3, batch })]);
    }
    expect(alone()).toBe(1);
    expect(await readAll(brokers, topics.updates)).toHaveLength(60);
  });

  it('goes along with the first send to another topic too: its leaders are asked for before the choice', async () => {
    const topics = await freshTopics(brokers);
    const { send, alone } = checkpointing(brokers, topics);
    for (const [batch, topic] of [
      [1n, 'updates'],
      [2n, 'watermarks'],
      [3n, 'watermarks'],
      [4n, 'updates'],
    ] as const)
      await send(batch, topic);
    expect(alone()).toBe(1);
    expect(await checkpointsOf(brokers, topics).read()).toEqual([expect.objectContaining({ batch: 4n })]);
  });

  it('is found on whatever partition it is, also by a reader that has read before', async () => {
    const topics = await freshTopics(brokers);
    const reader = checkpointsOf(brokers, topics);
    expect(await reader.read()).toEqual([]);
    const rigs = [3, 4, 5, 6].map((lane) => checkpointing(brokers, topics, lane));
    for (const batch of [1n, 2n, 3n]) await Promise.all(rigs.map(({ send }) => send(batch)));
    const lanes = [3, 4, 5, 6].map((lane) => expect.objectContaining({ lane, batch: 3n }));
    expect(await reader.read()).toHaveLength(4);
    expect(await reader.read()).toEqual(expect.arrayContaining(lanes));
    expect(await checkpointsOf(brokers, topics).read()).toEqual(expect.arrayContaining(lanes));
    expect(new Set((await readAll(brokers, topics.checkpoint)).map(({ partition }) => partition)).size).toBeGreaterThan(
      1,
    );
  });

  it('is what no update goes without: where its topic is missing, the error says what to do', async () => {
    const topics = await freshTopics(brokers, (names) =>
      topicSpecs(names).filter(({ name }) => name !== names.checkpoint),
    );
    const { send } = checkpointing(brokers, topics);
    const remedy = /run `tidemark topics apply`/;
    await expect(send(1n)).rejects.toMatchObject({ code: 'unknown_topic', message: expect.stringMatching(remedy) });
    await expect(checkpointsOf(brokers, topics).read()).rejects.toThrow(remedy);
    expect(await readAll(brokers, topics.updates)).toEqual([]);
  });

  it('is taken by a topic of an earlier version, with one partition', async () => {
    const topics = await freshTopics(brokers, (names) =>
      topicSpecs(names).map((spec) => (spec.name === names.checkpoint ? { ...spec, partitions: 1 } : spec)),
    );
    const { send, alone } = checkpointing(brokers, topics);
    for (const batch of [1n, 2n, 3n]) await send(batch);
    expect(await checkpointsOf(brokers, topics).read()).toEqual([expect.objectContaining({ batch: 3n })]);
    expect(alone()).toBe(1);
  });

  it('is read from any broker that answers, also where the first of them is down or says nothing', async () => {
    const topics = await freshTopics(brokers);
    await checkpointing(brokers, topics).send(1n);
    const mute = createServer(() => undefined);
    onTestFinished(() => void mute.close());
    await once(mute.listen(0, '127.0.0.1'), 'listening');
    const { port } = mute.address() as AddressInfo;
    for (const first of ['127.0.0.1:1', `127.0.0.1:${port}`])
      expect(await checkpointsOf([first, ...brokers], topics).read()).toEqual([expect.objectContaining({ batch: 1n })]);
  });
});
