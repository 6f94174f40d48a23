import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { Lease } from '../../../src/runtime/lease.ts';
import { systemRandom } from '../../../src/runtime/random.ts';
import type { TopicRecord } from '../../../src/service/log/follow-topic.ts';
import { LogPublisher, logPublisherDefaults } from '../../../src/service/log/log-publisher.ts';
import { ResultRelay, resultRelayDefaults } from '../../../src/service/log/result-relay.ts';
import { plannedPartitions, type TopicNames } from '../../../src/service/log/topics.ts';
import { eventually } from '../../support/runs/poll.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { AnswerSwallower } from '../../support/servers/answer-swallower.ts';
import { freshTopics, kafkaDeps, kafkaOptions, readAll } from '../../support/servers/kafka-fixture.ts';
import { ScriptedResultLog } from './scripted-result-log.ts';

const brokers = inject('kafkaBrokers');

async function relayTo(topics: TopicNames) {
  const log = new ScriptedResultLog(systemClock);
  const lease = new Lease(systemClock, 3_600_000);
  lease.confirm(1n, systemClock.monotonicMs());
  const { relay: metrics } = createMetrics();
  const answers = new AnswerSwallower();
  const publisher = new LogPublisher(
    { ...kafkaDeps, metrics, onSocket: (socket) => answers.watch(socket) },
    {
      ...logPublisherDefaults,
      kafka: { ...kafkaOptions(brokers), requestTimeoutMs: 1500 },
      topics,
      planned: plannedPartitions(topics),
      sendDeadlineMs: 2500,
    },
  );
  const deps = {
    log,
    shards: () => [0],
    publisher,
    lease,
    clock: systemClock,
    random: systemRandom,
    logger: silentLog,
    metrics,
  };
  const relay = new ResultRelay(deps, { ...resultRelayDefaults, maxRows: 20 });
  await relay.start();
  onTestFinished(async () => {
    await relay.drain(AbortSignal.timeout(5_000));
    await publisher.close();
  });
  const allMarked = () => eventually(() => expect(log.published.size).toBe(log.rows.length));
  return { log, relay, answers, metrics, allMarked };
}

const firsts = (records: readonly TopicRecord[], key: string) => [
  ...new Set(records.filter((record) => record.key === key).map(({ value }) => value)),
];

describe('steps of commands', () => {
  it('come to their topic as they are, those of a command on one partition and in order', async () => {
    const topics = await freshTopics(brokers);
    const { log, relay, allMarked } = await relayTo(topics);
    for (let i = 0; i < 100; i += 1) log.step(`command-${i % 12}`);
    relay.begin();
    await allMarked();
    const records = await readAll(brokers, topics.results);
    expect(records).toHaveLength(100);
    expect(new Set(records.map(({ partition }) => partition)).size).toBe(3);
    for (const { key } of log.rows) {
      expect(firsts(records, key)).toEqual(log.rows.filter((row) => row.key === key).map(({ payload }) => payload));
      expect(new Set(records.filter((record) => record.key === key).map(({ partition }) => partition)).size).toBe(1);
    }
  });

  it('are sent again when the answer of Kafka is lost, by another producer, and nothing of them is out of order or missing', async () => {
    const topics = await freshTopics(brokers);
    const { log, relay, answers, metrics, allMarked } = await relayTo(topics);
    relay.begin();
    log.step('command-1');
    relay.wake();
    await allMarked();
    answers.swallow = true;
    for (let i = 0; i < 10; i += 1) log.step(`command-${i % 2}`);
    relay.wake();
    const replaced = async () =>
      (await metrics.producerReplaced.get()).values.find(({ labels }) => labels.reason === 'timeout');
    await eventually(async () => expect((await replaced())?.value).toBeGreaterThan(0));
    answers.swallow = false;
    await allMarked();
    const records = await readAll(brokers, topics.results);
    expect(records.length).toBeGreaterThan(log.rows.length);
    for (const key of ['command-0', 'command-1'])
      expect(firsts(records, key)).toEqual(log.rows.filter((row) => row.key === key).map(({ payload }) => payload));
  });
});
