import type { Log } from '../../observability/log.ts';
import type { Metrics } from '../../observability/metrics.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Random } from '../../runtime/random.ts';
import type { Published } from '../../store/fleet/lane-store.ts';
import { isRefused } from '../fleet/loss-check.ts';
import { CanaryReader } from '../log/canary-reader.ts';
import { ConsumerGroups } from '../log/consumer-groups.ts';
import { foundTopics } from '../log/judge-topic-ids.ts';
import type { KafkaOptions } from '../log/kafka-options.ts';
import { readTopicIds } from '../log/kafkajs/read-topic-ids.ts';
import { LogPublisher, logPublisherDefaults } from '../log/log-publisher.ts';
import { batchOfMark, newestRecords, updatePosition, WitnessReader } from '../log/newest-records.ts';
import { checkTopics } from '../log/plan-topics.ts';
import { plannedPartitions, stateWriterId, topicNames } from '../log/topics.ts';
import { TransactionalPublisher, transactionalPublisherDefaults } from '../log/transactional-publisher.ts';
import { withAdmin } from '../log/with-admin.ts';

interface KafkaPartsOptions {
  readonly kafka: KafkaOptions;
  readonly topicPrefix: string;
  /** Left out: as planned. */
  readonly topicRetentionDays?: number;
  /** The lane that this process holds. */
  readonly lane: () => number;
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
  const stateWriterOf = (laneNow: () => number) =>
    new TransactionalPublisher(
      { clock, log, metrics, onFenced },
      {
        kafka,
        topic: topics.state,
        planned,
        transactionalId: () => stateWriterId(topics.state, laneNow()),
        ...transactionalPublisherDefaults,
      },
    );
  const witnesses = new WitnessReader({ clock, log }, { kafka, topic: topics.witness, deadlineMs: newestWithinMs });
  return {
    publisher: logPublisher(),
    /** Of the witnesses of this process's lane, and of those that it finishes. */
    witnessPublisher: logPublisher(),
    /** A separate publisher: each takes one send at a time, and sends of updates must not wait for commands. */
    outcomePublisher: logPublisher(),
    statePublisher: stateWriterOf(lane),
    /** Those of another lane, whose log has to be finished: its state writer fences that of the process that had it. */
    publishersOf: (other: number) => ({
      updates: logPublisher(),
      witness: logPublisher(),
      states: stateWriterOf(() => other),
    }),
    /** How often a transaction of ours was refused because a later holder had taken the state topic over. */
    fences: () => fences,
    /** By the newest witness of each lane, and the last updates, states and marks of each partition. A state may be on its topic before its update is on the other. */
    newestPublished: async (): Promise<Published> => {
      const newestOf = (topic: string) => newestRecords({ clock, log }, kafka, topic, newestWithinMs);
      const [updates, states, marks, lanes] = await Promise.all([
        newestOf(topics.updates),
        newestOf(topics.state),
        newestOf(topics.continuity),
        witnesses.read().catch((error: unknown) => {
          // `WitnessWriter` says so. The last records are better than nothing.
          if (isRefused(error)) return [];
          throw error;
        }),
      ]);
      return {
        updates: [...updates, ...states].flatMap(({ key, value = '' }) => {
          const position = updatePosition(value);
          const colon = key.indexOf(':');
          if (position === undefined || colon < 0) return [];
          return { stream: key.slice(0, colon), orderId: key.slice(colon + 1), ...position, payload: value };
        }),
        batches: [...lanes, ...marks.flatMap(({ value = '' }) => batchOfMark(value) ?? [])],
      };
    },
    canary: new CanaryReader({ clock, random, log, metrics }, { kafka, topic: topics.continuity }),
    consumers: new ConsumerGroups(
      { clock, log },
      { kafka, topics: [topics.updates, topics.state, topics.continuity, topics.outcomes] },
    ),
    checkTopics: () => checkTopics({ clock, log }, kafka, topics, options.topicRetentionDays),
    /** The five topics with Kafka's ids of them. */
    findTopics: async () =>
      foundTopics(topics, await withAdmin({ clock, log }, kafka, (_, client) => readTopicIds(client, Object.values(topics)))),
  };
}
