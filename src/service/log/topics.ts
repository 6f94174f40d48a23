/** One topic as it should be. */
export interface TopicSpec {
  readonly name: string;
  /**
   * Fixed for the topic's life: a change would move keys to other partitions and break their order.
   * It needs a `.v2`.
   */
  readonly partitions: number;
  /** Of a topic without such an order: one that is there is taken with any count. */
  readonly anyCount?: true;
  /**
   * Settings as Kafka names them. `min.insync.replicas` comes with the replication, see
   * `planTopics`.
   */
  readonly settings: Readonly<Record<string, string>>;
}

/**
 * `prefix` is put before each name unchanged, for tests and for several installations on one
 * cluster.
 */
export function topicNames(prefix = '') {
  return {
    /** Every update. */
    updates: `${prefix}tidemark.order-updates.v1`,
    /** Each order's newest state, compacted. Read it `read_committed`. */
    state: `${prefix}tidemark.order-state.v1`,
    /** Changes in the sources' state, and heartbeats "complete up to". */
    watermarks: `${prefix}tidemark.watermarks.v1`,
    /** Each step of a command. */
    results: `${prefix}tidemark.command-results.v1`,
    /**
     * Each lane's newest commits, written just before they are published: compacted, for the
     * service alone.
     */
    checkpoint: `${prefix}tidemark.commit-checkpoint.v1`,
  };
}

export type TopicNames = Readonly<ReturnType<typeof topicNames>>;

const dayMs = 24 * 60 * 60 * 1000;
/**
 * How long records stay on topics without compaction, unless `TIDEMARK_TOPIC_RETENTION_DAYS` says
 * otherwise.
 */
const plannedRetentionDays = 7;
/** Kafka's default, set explicitly: a record that a smaller limit refuses stops the lane. */
const maxMessageBytes = '1048588';

/**
 * The transactional id of a lane's writer on the state topic. The last one to initialise it fences
 * every earlier one.
 */
export function stateWriterId(topic: string, lane: number): string {
  return `${topic}.lane-${lane}`;
}

/**
 * The newest segment is never compacted, and each process reads the whole topic once: some 60,000
 * records, of all partitions together.
 */
const checkpointSegmentBytes = String(8 * 1024 * 1024);

/**
 * The topics (docs/consuming.md). Limited by time alone: a limit by size would delete records
 * before any consumer has read them.
 */
export function topicSpecs(names: TopicNames, retentionDays = plannedRetentionDays): readonly TopicSpec[] {
  const retention = { 'retention.ms': String(retentionDays * dayMs), 'retention.bytes': '-1' };
  const kept = { 'cleanup.policy': 'delete', ...retention, 'max.message.bytes': maxMessageBytes };
  const compacted = {
    'cleanup.policy': 'compact',
    'min.compaction.lag.ms': '60000',
    'max.message.bytes': maxMessageBytes,
  };
  return [
    { name: names.updates, partitions: 12, settings: kept },
    { name: names.state, partitions: 12, settings: compacted },
    { name: names.watermarks, partitions: 1, settings: kept },
    { name: names.results, partitions: 3, settings: kept },
    // So many that each broker leads one: a checkpoint goes along with the updates to each broker.
    {
      name: names.checkpoint,
      partitions: 6,
      anyCount: true,
      settings: { ...compacted, 'segment.bytes': checkpointSegmentBytes },
    },
  ];
}

/** Partitions by topic, for the publishers. */
export function plannedPartitions(names: TopicNames): ReadonlyMap<string, number> {
  const fixed = topicSpecs(names).filter(({ anyCount }) => anyCount !== true);
  return new Map(fixed.map(({ name, partitions }) => [name, partitions]));
}
