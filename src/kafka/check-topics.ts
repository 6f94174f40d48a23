import type { KafkaOptions } from './kafka-options.ts';
import { planTopics } from './plan-topics.ts';
import { topicFaults } from './topic-faults.ts';
import { type TopicNames, topicSpecs } from './topics.ts';
import { type AdminDeps, withAdmin } from './with-admin.ts';

/** Readiness: every topic is as planned. Never rejects: brokers that don't answer are a fault like any other (Kafka may be down at start). */
export async function checkTopics(
  deps: AdminDeps,
  options: KafkaOptions,
  names: TopicNames,
): Promise<{ readonly ok: true } | { readonly ok: false; readonly faults: readonly string[] }> {
  try {
    const faults = await withAdmin(deps, options, async (admin) => topicFaults(await planTopics(admin, topicSpecs(names))));
    return faults.length === 0 ? { ok: true } : { ok: false, faults };
  } catch (err) {
    return { ok: false, faults: [`Kafka does not answer: ${err instanceof Error ? err.message : String(err)}`] };
  }
}
