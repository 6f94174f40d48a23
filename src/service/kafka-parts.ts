import type { CheckResult } from '../observability/health.ts';
import type { Log } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';
import { CanaryReader } from '../publish/canary-reader.ts';
import { ConsumerGroups } from '../publish/consumer-groups.ts';
import type { KafkaOptions } from '../publish/kafka-options.ts';
import { LogPublisher, logPublisherDefaults } from '../publish/log-publisher.ts';
import { newestRecords, updatePosition } from '../publish/newest-records.ts';
import { checkTopics } from '../publish/plan-topics.ts';
import { plannedPartitions, topicNames } from '../publish/topics.ts';
import { TransactionalPublisher, transactionalPublisherDefaults } from '../publish/transactional-publisher.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Random } from '../runtime/random.ts';
import type { PublishedUpdate } from '../store/lane-store.ts';

interface KafkaPartsOptions {
  readonly kafka: KafkaOptions;
  readonly topicPrefix: string;
  readonly lane: number;
}

/** A takeover waits for this read, and has 10 s in all. */
const newestWithinMs = 2_000;

/** Everything that speaks Kafka, made from one set of options. */
export function kafkaParts(deps: { clock: Clock; random: Random; metrics: Metrics; log: Log }, options: KafkaPartsOptions) {
  const { kafka, topicPrefix, lane } = options;
  const { clock, random, log } = deps;
  const metrics = deps.metrics.relay;
  const topics = topicNames(topicPrefix);
  const planned = plannedPartitions(topics);
  let fences = 0;
  const onFenced = () => {
    fences += 1;
    deps.metrics.ingest.fenced.inc({ by: 'kafka' });
  };
  const logPublisher = () => new LogPublisher({ clock, log, metrics }, { kafka, topics, planned, ...logPublisherDefaults });
  return {
    publisher: logPublisher(),
    /** A separate publisher: each takes one send at a time, and sends of updates must not wait for commands. */
    outcomePublisher: logPublisher(),
    statePublisher: new TransactionalPublisher(
      { clock, log, metrics, onFenced },
      { kafka, topic: topics.state, planned, transactionalId: `${topics.state}.lane-${lane}`, ...transactionalPublisherDefaults },
    ),
    /** How often a transaction of ours was refused because a later holder had taken the state topic over. */
    fences: () => fences,
    /** The last updates of each partition. */
    newestUpdates: async (): Promise<PublishedUpdate[]> => {
      const records = await newestRecords({ clock, log }, kafka, topics.updates, newestWithinMs);
      return records.flatMap(({ key, value = '' }) => {
        const position = updatePosition(value);
        const colon = key.indexOf(':');
        if (position === undefined || colon < 0) return [];
        return { stream: key.slice(0, colon), orderId: key.slice(colon + 1), ...position, payload: value };
      });
    },
    canary: new CanaryReader({ clock, random, log, metrics }, { kafka, topic: topics.continuity }),
    consumers: new ConsumerGroups({ clock, log }, { kafka, topics: Object.values(topics) }),
    checkTopics: async (): Promise<CheckResult> => {
      const result = await checkTopics({ clock, log }, kafka, topics);
      return { ok: result.ok, detail: result.ok ? 'every topic is as planned' : result.faults.join('; ') };
    },
  };
}
