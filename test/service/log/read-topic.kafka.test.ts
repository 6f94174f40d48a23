import { randomBytes } from 'node:crypto';
import kafkajs, { Kafka, logLevel } from 'kafkajs';
import { pino } from 'pino';
import { describe, expect, inject, it } from 'vitest';
import { startEmbeddedKafka } from '../../../src/demo/devstack/start-embedded-kafka.ts';
import type { LogRow } from '../../../src/domain/committed-batch.ts';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { CanaryReader } from '../../../src/service/log/canary-reader.ts';
import type { Jump, TopicRecord } from '../../../src/service/log/follow-topic.ts';
import { readTopic } from '../../../src/service/log/read-topic.ts';
import { withAdmin } from '../../../src/service/log/with-admin.ts';
import { eventually } from '../../support/runs/poll.ts';
import { testLog } from '../../support/runs/test-log.ts';
import { cacheDir } from '../../support/servers/cache-dir.ts';
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
    await publisher.publish([{ topic: 'watermarks', key: 'account-1', payload: '{"event":"heartbeat"}' }]);
    const reader = new CanaryReader({ ...kafkaDeps, metrics: relay }, { kafka, topic: topics.watermarks });
    await reader.start();
    expect(await value()).toBe(0);
    await eventually(async () => {
      await publisher.publish([{ topic: 'watermarks', key: 'account-1', payload: '{"event":"heartbeat"}' }]);
      expect(await value()).toBeGreaterThan(1_700_000_000);
    });
    await reader.drain(AbortSignal.timeout(5000));
    await publisher.close();
  });
});

describe('issue: `tidemark tail` did not say that records had been deleted before it could read them.', () => {
  // `tail` and `verify` said nothing where records were deleted before they had read them, and
  // showed nothing at all of a topic that was made anew until it had grown as long as the one
  // before.

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
    await eventually(() =>
      expect(seen.filter(({ value }) => Number(value) >= 10_000).length).toBeGreaterThanOrEqual(60),
    );
    expect(jumps.every(({ from, to }) => to === 0n && from > 0n)).toBe(true);
    expect(jumps.length).toBeGreaterThan(0);
    await end();
    await Promise.all([publisher.close(), again.publisher.close()]);
  });
});

describe('issue: Nothing could be read back from a topic after an operator had set its compression.type.', () => {
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
});

describe('issue: The first reader of a new Kafka logged warnings although nothing was wrong.', () => {
  it('the first reader of a new Kafka warns of nothing', async () => {
    const { brokers, stop } = await startEmbeddedKafka({ clock: systemClock, log: testLog }, { cacheDir });
    try {
      const topics = await freshTopics(brokers);
      const lines: string[] = [];
      const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
      const over = new AbortController();
      const options = {
        kafka: kafkaOptions(brokers),
        topic: topics.updates,
        from: 'beginning',
        readCommitted: true,
      } as const;
      const records = readTopic({ ...kafkaDeps, log }, { ...options, signal: over.signal });
      const { publisher } = logPublisher(brokers, topics);
      await publisher.publish(numberedRows(0, 1));
      await publisher.close();
      expect((await records.next()).value?.value).toBe('0');
      over.abort();
      await records.return(undefined);
      expect(lines.map((line) => JSON.parse(line)).filter(({ level }) => level >= 40)).toEqual([]);
    } finally {
      await stop();
    }
  });
});
