import { onTestFinished } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { Lease } from '../../../src/runtime/lease.ts';
import { CheckpointReader } from '../../../src/service/log/checkpoint-reader.ts';
import { CheckpointWriter } from '../../../src/service/log/checkpoint-writer.ts';
import { LogPublisher, logPublisherDefaults } from '../../../src/service/log/log-publisher.ts';
import type { PublishRow } from '../../../src/service/log/publisher.ts';
import { plannedPartitions, type TopicNames } from '../../../src/service/log/topics.ts';
import { kafkaDeps, kafkaOptions } from '../servers/kafka-fixture.ts';

/** One lane that sends updates with their checkpoints; `alone`: how many went by themselves. */
export function checkpointing(brokers: readonly string[], topics: TopicNames, lane = 3) {
  const kafka = kafkaOptions(brokers);
  const { relay: metrics } = createMetrics();
  const publisher = () => {
    const made = new LogPublisher(
      { ...kafkaDeps, metrics },
      { kafka, topics, planned: plannedPartitions(topics), ...logPublisherDefaults },
    );
    onTestFinished(() => made.close());
    return made;
  };
  const lease = new Lease(systemClock, 60_000);
  lease.enter(lane);
  lease.checkpoint.sawLane({ generation: 1, epoch: 1n, batch: 0n });
  const [updates, checkpoints] = [publisher(), publisher()];
  let alone = 0;
  const counted = {
    publish: (rows: readonly PublishRow[]) => {
      alone += 1;
      return checkpoints.publish(rows);
    },
    close: async () => undefined,
  };
  const writer = new CheckpointWriter({ clock: systemClock, lease, publisher: counted, mayWrite: () => true });
  writer.doubt();
  const send = async (batch: bigint, topic: PublishRow['topic'] = 'updates', count = 3) => {
    const rows = Array.from({ length: count }, (_, n) => n).map((n) => ({
      topic,
      key: `account:${batch}-${n}`,
      payload: `{"batch":"${batch}","row":${n}}`,
    }));
    await updates
      .publish(rows, () => true, writer.along(batch))
      .catch((error: unknown) => {
        writer.doubt();
        throw error;
      });
  };
  return { send, alone: () => alone };
}

/** As another process reads them. */
export function checkpointsOf(brokers: readonly string[], topics: TopicNames): CheckpointReader {
  return new CheckpointReader(kafkaDeps, {
    kafka: kafkaOptions(brokers),
    topic: topics.checkpoint,
    deadlineMs: 10_000,
  });
}
