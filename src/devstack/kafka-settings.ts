/** Broker settings by name, as Kafka's documentation writes them. */
export type KafkaSettings = Record<string, string | number | boolean>;

/** The settings of a small cluster of `brokers` brokers, besides who listens where; all others are Kafka's defaults. */
export function smallClusterSettings(brokers: number): KafkaSettings {
  return {
    'auto.create.topics.enable': false,
    'group.initial.rebalance.delay.ms': 0,
    // The default takes 128 MB of the heap for compaction.
    'log.cleaner.dedupe.buffer.size': 16 * 1024 * 1024,
    // A killed node is noticed after 3 s instead of 9: its leaders move, and it may itself come back, no earlier than that.
    'broker.heartbeat.interval.ms': 500,
    'broker.session.timeout.ms': 3_000,
    ...internalTopics(Math.min(3, brokers)),
  };
}

/** One partition each instead of 50: nothing here has enough groups to share them out, and the first use of each is a second faster. */
function internalTopics(replicas: number): KafkaSettings {
  return Object.fromEntries(
    ['offsets.topic', 'transaction.state.log', 'share.coordinator.state.topic'].flatMap((topic) => [
      [`${topic}.num.partitions`, 1],
      [`${topic}.replication.factor`, replicas],
      // The offsets topic has no such setting: it follows min.insync.replicas, which is 1.
      ...(topic === 'offsets.topic' ? [] : [[`${topic}.min.isr`, 1]]),
    ]),
  );
}
