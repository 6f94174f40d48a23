import { type Admin, Kafka, logLevel } from 'kafkajs';
import type { LogRow } from '../../../src/domain/committed-batch.ts';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { systemRandom } from '../../../src/runtime/random.ts';
import type { TopicRecord } from '../../../src/service/log/follow-topic.ts';
import { type KafkaOptions, kafkaDefaults } from '../../../src/service/log/kafka-options.ts';
import {
  LogPublisher,
  type LogPublisherOptions,
  logPublisherDefaults,
} from '../../../src/service/log/log-publisher.ts';
import { applyTopics, planTopics } from '../../../src/service/log/plan-topics.ts';
import { readTopic } from '../../../src/service/log/read-topic.ts';
import { type TopicNames, type TopicSpec, topicNames, topicSpecs } from '../../../src/service/log/topics.ts';
import { withAdmin } from '../../../src/service/log/with-admin.ts';
import { eventually } from '../runs/poll.ts';
import { testLog } from '../runs/test-log.ts';
import { topicPrefix } from './topics.ts';

/** What everything that talks to Kafka needs, in a test. */
export const kafkaDeps = { clock: systemClock, random: systemRandom, log: testLog };

export function kafkaOptions(brokers: readonly string[]): KafkaOptions {
  return { ...kafkaDefaults, brokers, clientId: 'tidemark-test' };
}

/** Topics of the test's own, as planned unless `specs` says otherwise. */
export async function freshTopics(
  brokers: readonly string[],
  specs: (names: TopicNames) => readonly TopicSpec[] = topicSpecs,
): Promise<TopicNames> {
  const names = topicNames(topicPrefix());
  await makeTopics(brokers, specs(names));
  return names;
}

/** Makes those that are missing, as `tidemark topics apply` does. */
export async function makeTopics(brokers: readonly string[], specs: readonly TopicSpec[]): Promise<void> {
  await withAdmin(kafkaDeps, kafkaOptions(brokers), async (admin) =>
    applyTopics(admin, await planTopics(admin, specs), systemClock),
  );
}

/**
 * Deletes topics, and resolves once the brokers show none of them: one that is still shown is not
 * made again.
 */
export async function deleteTopics(brokers: readonly string[], topics: readonly string[]): Promise<void> {
  const deadlineMs = 60_000;
  const remove = async (admin: Admin) => {
    await admin.deleteTopics({ topics: [...topics] });
    await eventually(async () => {
      const shown = (await admin.listTopics()).filter((name) => topics.includes(name));
      if (shown.length > 0) throw new Error(`still there: ${shown.join(', ')}`);
    });
  };
  await withAdmin(kafkaDeps, kafkaOptions(brokers), remove, deadlineMs);
}

/** Everything on a topic now, in order within each partition. */
export async function readAll(brokers: readonly string[], topic: string, readCommitted = true): Promise<TopicRecord[]> {
  const records: TopicRecord[] = [];
  const options = { kafka: kafkaOptions(brokers), topic, from: 'beginning', until: 'end', readCommitted } as const;
  for await (const record of readTopic(kafkaDeps, options)) records.push(record);
  return records;
}

/** As another program would: null is a tombstone. Keys go to the partitions that ours go to. */
export async function writeForeign(
  brokers: readonly string[],
  topic: string,
  messages: readonly { key: string; value: string | null }[],
): Promise<void> {
  const producer = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING }).producer();
  await producer.connect();
  try {
    await producer.send({ topic, acks: -1, messages: [...messages] });
  } finally {
    await producer.disconnect();
  }
}

export function logPublisher(
  brokers: readonly string[],
  topics: LogPublisherOptions['topics'],
  changes: Partial<Omit<LogPublisherOptions, 'kafka'>> & { kafka?: Partial<KafkaOptions> } = {},
): { publisher: LogPublisher; replaced: () => Promise<Record<string, number>> } {
  const { relay } = createMetrics();
  const publisher = new LogPublisher(
    { ...kafkaDeps, metrics: relay },
    { topics, ...logPublisherDefaults, ...changes, kafka: { ...kafkaOptions(brokers), ...changes.kafka } },
  );
  const replaced = async () => {
    const { values } = await relay.producerReplaced.get();
    return Object.fromEntries(values.map(({ labels, value }) => [String(labels.reason), value]));
  };
  return { publisher, replaced };
}

/** Rows with payloads `<from>`, `<from + 1>`, …; keys go round. */
export function numberedRows(from: number, count: number, keys = 50): LogRow[] {
  return Array.from({ length: count }, (_, i) => ({
    topic: 'updates',
    key: `prediction:order-${(from + i) % keys}`,
    payload: String(from + i),
  }));
}

/** The first occurrence of each payload, per key, as a consumer that drops repeats sees them. */
export function firstsByKey(records: readonly TopicRecord[]): Map<string, number[]> {
  const seen = new Set<string>();
  const firsts = new Map<string, number[]>();
  for (const { key, value = '' } of records) {
    if (seen.has(value)) continue;
    seen.add(value);
    firsts.set(key, [...(firsts.get(key) ?? []), Number(value)]);
  }
  return firsts;
}
