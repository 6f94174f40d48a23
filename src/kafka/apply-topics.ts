import kafkajs, { type Admin } from 'kafkajs';
import type { TopicPlan } from './plan-topics.ts';

/** Makes what is missing and alters settings. Never touches a partition count or a replica: those are the plan's faults, for a person. Safe to run twice. */
export async function applyTopics(admin: Admin, plan: TopicPlan): Promise<void> {
  if (plan.creations.length > 0) {
    // False (somebody else made it meanwhile) is as good.
    await admin.createTopics({
      waitForLeaders: true,
      topics: plan.creations.map(({ spec, replication, settings }) => ({
        topic: spec.name,
        numPartitions: spec.partitions,
        replicationFactor: replication,
        configEntries: configEntries(settings),
      })),
    });
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

function configEntries(settings: Readonly<Record<string, string>>): { name: string; value: string }[] {
  return Object.entries(settings).map(([name, value]) => ({ name, value }));
}
