import { CanaryReader } from '../log/canary-reader.ts';
import { CheckpointReader } from '../log/checkpoint-reader.ts';
import { ConsumerGroups } from '../log/consumer-groups.ts';
import { findTopics } from '../log/judge-topic-ends.ts';
import type { KafkaOptions } from '../log/kafka-options.ts';
import { LogPublisher, logPublisherDefaults } from '../log/log-publisher.ts';
import { checkTopics } from '../log/plan-topics.ts';
import { plannedPartitions, stateWriterId, topicNames } from '../log/topics.ts';
import { TransactionalPublisher, transactionalPublisherDefaults } from '../log/transactional-publisher.ts';
import { withAdmin } from '../log/with-admin.ts';
import type { SharedParts } from './shared-parts.ts';

interface KafkaPartsOptions {
  readonly kafka: KafkaOptions;
  readonly topicPrefix: string;
  /** Left out: as planned. */
  readonly topicRetentionDays?: number;
  /** This process's lane. */
  readonly lane: () => number;
}

/** A takeover waits for this read, and has 10 s in all. */
const checkpointsWithinMs = 2_000;

export type KafkaParts = ReturnType<typeof kafkaParts>;

/** Everything that speaks Kafka, made from one set of options. */
export function kafkaParts({ clock, random, log, metrics }: SharedParts, options: KafkaPartsOptions) {
  const { kafka, topicPrefix, lane } = options;
  const topics = topicNames(topicPrefix);
  const planned = plannedPartitions(topics);
  let fences = 0;
  const onFenced = () => {
    fences += 1;
    metrics.ingest.fenced.inc({ by: 'kafka' });
  };
  const deps = { clock, random, log, metrics: metrics.relay };
  const logPublisher = () => new LogPublisher(deps, { kafka, topics, planned, ...logPublisherDefaults });
  const stateWriterOf = (laneNow: () => number) =>
    new TransactionalPublisher(
      { ...deps, onFenced },
      {
        kafka,
        topic: topics.state,
        planned,
        transactionalId: () => stateWriterId(topics.state, laneNow()),
        ...transactionalPublisherDefaults,
      },
    );
  const ofThisLane = {
    publisher: logPublisher(),
    /** For the checkpoints of this process's lane. */
    checkpointPublisher: logPublisher(),
    /**
     * A separate publisher: each takes one send at a time, and updates must not wait for commands.
     */
    resultPublisher: logPublisher(),
    statePublisher: stateWriterOf(lane),
  };
  return {
    ...ofThisLane,
    /** To finish another lane's log: this state writer fences the one before it. */
    publishersOf: (other: number) => ({
      updates: logPublisher(),
      checkpoint: logPublisher(),
      states: stateWriterOf(() => other),
    }),
    /** Our refused transactions: a later holder had taken the state topic over. */
    fences: () => fences,
    /** Each lane's newest. */
    checkpoints: new CheckpointReader(deps, { kafka, topic: topics.checkpoint, deadlineMs: checkpointsWithinMs }),
    canary: new CanaryReader(deps, { kafka, topic: topics.watermarks }),
    consumers: new ConsumerGroups(deps, {
      kafka,
      topics: [topics.updates, topics.state, topics.watermarks, topics.results],
    }),
    checkTopics: () => checkTopics(deps, kafka, topics, options.topicRetentionDays),
    /** The five topics with their ends. */
    findTopics: () => withAdmin(deps, kafka, (admin) => findTopics(admin, topics)),
    close: async () => {
      await Promise.all(Object.values(ofThisLane).map((publisher) => publisher.close()));
    },
  };
}
