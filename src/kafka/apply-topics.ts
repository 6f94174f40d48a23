import kafkajs, { type Admin } from 'kafkajs';
import type { Clock } from '../runtime/clock.ts';
import type { TopicPlan } from './plan-topics.ts';

/** Makes the missing topics and alters settings. Never touches a partition count or a replica: those are the plan's faults, for a person. Safe to run twice.
 * Resolves when every partition of a new topic has a leader that knows it, so that the first send is not refused. */
export async function applyTopics(admin: Admin, plan: TopicPlan, clock: Clock): Promise<void> {
  if (plan.creations.length > 0) {
    // False (another process made it meanwhile) serves equally well.
    await admin.createTopics({
      // kafkajs's own waiting rejects when a broker has not heard of the topic yet.
      waitForLeaders: false,
      topics: plan.creations.map(({ spec, replication, settings }) => ({
        topic: spec.name,
        numPartitions: spec.partitions,
        replicationFactor: replication,
        configEntries: configEntries(settings),
      })),
    });
    for (const { spec } of plan.creations) await untilLed(admin, spec.name, clock);
  }
  if (plan.alterations.length > 0) {
    await admin.alterConfigs({
      validateOnly: false,
      resources: plan.alterations.map(({ topic, settings }) => ({
        type: kafkajs.ConfigResourceTypes.TOPIC,
        name: topic,
        configEntries: configEntries(settings),
      })),
    });
  }
}

/** Brokers hear of a new topic one after the other, and its leaders stand in the metadata before they know it themselves: ask the leaders. */
async function untilLed(admin: Admin, topic: string, clock: Clock): Promise<void> {
  for (let left = 100; ; left -= 1) {
    try {
      await admin.fetchTopicOffsets(topic);
      return;
    } catch (err) {
      if (left === 0) throw err;
    }
    await clock.sleep(50);
  }
}

function configEntries(settings: Readonly<Record<string, string>>): { name: string; value: string }[] {
  return Object.entries(settings).map(([name, value]) => ({ name, value }));
}
