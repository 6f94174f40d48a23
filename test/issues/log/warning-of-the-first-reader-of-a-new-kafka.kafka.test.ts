// What a user saw: The first reader of a new Kafka logged warnings although nothing was wrong.

import { pino } from 'pino';
import { expect, it } from 'vitest';
import { startEmbeddedKafka } from '../../../src/demo/devstack/start-embedded-kafka.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { readTopic } from '../../../src/service/log/read-topic.ts';
import { testLog } from '../../support/runs/test-log.ts';
import { cacheDir } from '../../support/servers/cache-dir.ts';
import {
  freshTopics,
  kafkaDeps,
  kafkaOptions,
  logPublisher,
  numberedRows,
} from '../../support/servers/kafka-fixture.ts';

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
