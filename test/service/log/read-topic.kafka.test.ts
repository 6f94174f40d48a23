import { describe, expect, inject, it } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { CanaryReader } from '../../../src/service/log/canary-reader.ts';
import type { TopicRecord } from '../../../src/service/log/follow-topic.ts';
import { readTopic } from '../../../src/service/log/read-topic.ts';
import { eventually } from '../../support/runs/poll.ts';
import {
  freshTopics,
  kafkaDeps,
  kafkaOptions,
  logPublisher,
  numberedRows,
  readAll,
} from '../../support/servers/kafka-fixture.ts';

const brokers = inject('kafkaBrokers');
const kafka = kafkaOptions(brokers);

describe('reading a topic', () => {
  it('ends at once on an empty topic when it is to read until the end', async () => {
    const { updates } = await freshTopics(brokers);
    expect(await readAll(brokers, updates)).toEqual([]);
  });

  it('gives everything from the beginning and goes on with what comes, each record once, until it is stopped', async () => {
    const topics = await freshTopics(brokers);
    const { publisher } = logPublisher(brokers, topics);
    await publisher.publish(numberedRows(0, 1500));
    const stop = new AbortController();
    const seen: TopicRecord[] = [];
    const reading = (async () => {
      const options = {
        kafka,
        topic: topics.updates,
        from: 'beginning',
        readCommitted: true,
        signal: stop.signal,
      } as const;
      for await (const record of readTopic(kafkaDeps, options)) seen.push(record);
    })();
    await eventually(() => expect(seen).toHaveLength(1500));
    await publisher.publish(numberedRows(1500, 20));
    await eventually(() => expect(seen).toHaveLength(1520));
    stop.abort();
    await reading;
    await publisher.close();
    expect(new Set(seen.map(({ value }) => value)).size).toBe(1520);
    expect(seen[0]).toMatchObject({ key: expect.stringMatching(/^prediction:/), timestampMs: expect.any(Number) });
  });

  it('from the end gives only what comes after it began', async () => {
    const topics = await freshTopics(brokers);
    const { publisher } = logPublisher(brokers, topics);
    await publisher.publish(numberedRows(0, 100));
    const stop = new AbortController();
    const seen: TopicRecord[] = [];
    const reading = (async () => {
      const options = { kafka, topic: topics.updates, from: 'end', readCommitted: true, signal: stop.signal } as const;
      for await (const record of readTopic(kafkaDeps, options)) seen.push(record);
    })();
    let sent = 100;
    await eventually(async () => {
      await publisher.publish(numberedRows(sent, 1));
      sent += 1;
      expect(seen.length).toBeGreaterThan(0);
    });
    stop.abort();
    await reading;
    await publisher.close();
    expect(Number(seen[0]?.value)).toBeGreaterThanOrEqual(100);
  });

  it('connects again by itself and goes on where it was', async () => {
    const topics = await freshTopics(brokers);
    const { publisher } = logPublisher(brokers, topics);
    await publisher.publish(numberedRows(0, 50));
    const stop = new AbortController();
    const seen: TopicRecord[] = [];
    const sockets = new Set<{ destroy(error: Error): unknown }>();
    let failures = 0;
    const deps = { ...kafkaDeps, onSocket: (socket: { destroy(error: Error): unknown }) => sockets.add(socket) };
    const reading = (async () => {
      const options = {
        kafka,
        topic: topics.updates,
        from: 'beginning',
        readCommitted: true,
        signal: stop.signal,
      } as const;
      const onFailure = () => {
        failures += 1;
      };
      for await (const record of readTopic(deps, { ...options, onFailure })) seen.push(record);
    })();
    await eventually(() => expect(seen).toHaveLength(50));
    for (const socket of sockets) socket.destroy(new Error('cut by the test'));
    await publisher.publish(numberedRows(50, 50));
    await eventually(() => expect(seen).toHaveLength(100));
    stop.abort();
    await reading;
    await publisher.close();
    expect(new Set(seen.map(({ value }) => value)).size).toBe(100);
    expect(failures).toBeLessThan(5);
  });

  it('waits for brokers that do not answer, and stops when it is told to', async () => {
    const stop = new AbortController();
    let failures = 0;
    const options = {
      kafka: kafkaOptions(['127.0.0.1:9']),
      topic: 'any',
      from: 'end',
      readCommitted: true,
      signal: stop.signal,
      onFailure: () => {
        failures += 1;
        if (failures === 2) stop.abort();
      },
    } as const;
    for await (const record of readTopic(kafkaDeps, options)) expect(record).toBeUndefined();
    expect(failures).toBe(2);
  });
});

describe('the canary reader', () => {
  it('moves the timestamp when a mark has made its way back out of Kafka, and not before', async () => {
    const topics = await freshTopics(brokers);
    const { publisher } = logPublisher(brokers, topics);
    const { relay } = createMetrics();
    const value = async () => (await relay.canary.get()).values[0]?.value ?? 0;
    await publisher.publish([{ topic: 'continuity', key: 'account-1', payload: '{"event":"heartbeat"}' }]);
    const reader = new CanaryReader({ ...kafkaDeps, metrics: relay }, { kafka, topic: topics.continuity });
    await reader.start();
    expect(await value()).toBe(0);
    await eventually(async () => {
      await publisher.publish([{ topic: 'continuity', key: 'account-1', payload: '{"event":"heartbeat"}' }]);
      expect(await value()).toBeGreaterThan(1_700_000_000);
    });
    await reader.drain(AbortSignal.timeout(5000));
    await publisher.close();
  });
});
