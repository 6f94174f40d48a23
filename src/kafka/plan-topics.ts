import kafkajs, { type Admin } from 'kafkajs';
import type { TopicSpec } from './topics.ts';

export interface TopicCreation {
  readonly spec: TopicSpec;
  readonly replication: number;
  readonly settings: Readonly<Record<string, string>>;
}

export interface TopicAlteration {
  readonly topic: string;
  readonly changes: readonly { readonly setting: string; readonly found: string; readonly wanted: string }[];
  /** Every setting that the topic has of its own after the change: kafkajs only knows the call that replaces them all. */
  readonly settings: Readonly<Record<string, string>>;
}

/** The differences between the topics as they are and as they should be. Nothing to do: all three are empty. */
export interface TopicPlan {
  readonly creations: readonly TopicCreation[];
  readonly alterations: readonly TopicAlteration[];
  /** Differences that only a person can settle, in sentences: partition counts, mostly. */
  readonly faults: readonly string[];
}

/** Compares the wanted topics with those found. Changes nothing; rejects when the brokers don't answer. */
export async function planTopics(admin: Admin, specs: readonly TopicSpec[]): Promise<TopicPlan> {
  const [existing, { brokers }] = await Promise.all([admin.listTopics(), admin.describeCluster()]);
  const present = specs.filter(({ name }) => existing.includes(name));
  const missing = specs.filter(({ name }) => !existing.includes(name));
  const replication = Math.min(3, brokers.length);
  const creations = missing.map((spec) => ({ spec, replication, settings: wantedSettings(spec, replication) }));
  if (present.length === 0) return { creations, alterations: [], faults: [] };

  const found = await describe(admin, present);
  const faults: string[] = [];
  const alterations: TopicAlteration[] = [];
  for (const spec of present) {
    const topic = found.get(spec.name);
    if (topic === undefined) continue;
    if (topic.partitions !== spec.partitions) {
      faults.push(
        `${spec.name} has ${topic.partitions} partitions, planned are ${spec.partitions}: the count is fixed for life, make the topic anew`,
      );
    }
    const wanted = wantedSettings(spec, topic.replication);
    const changes = Object.entries(wanted)
      .filter(([setting, value]) => topic.settings.get(setting) !== value)
      .map(([setting, value]) => ({ setting, found: topic.settings.get(setting) ?? '', wanted: value }));
    if (changes.length > 0) alterations.push({ topic: spec.name, changes, settings: { ...topic.own, ...wanted } });
  }
  return { creations, alterations, faults };
}

/** One replica may be away and the lane goes on; with one or two replicas the most that is possible. */
function wantedSettings(spec: TopicSpec, replication: number): Record<string, string> {
  return { ...spec.settings, 'min.insync.replicas': String(Math.max(1, replication - 1)) };
}

interface FoundTopic {
  readonly partitions: number;
  readonly replication: number;
  /** Effective settings, defaults of the broker among them. */
  readonly settings: ReadonlyMap<string, string>;
  /** Those set on the topic itself. */
  readonly own: Readonly<Record<string, string>>;
}

/** `ConfigSource.TOPIC_CONFIG`, as a number: kafkajs's enum is declared and not exported by every build. */
const setOnTopic = 1;

async function describe(admin: Admin, specs: readonly TopicSpec[]): Promise<Map<string, FoundTopic>> {
  const names = specs.map(({ name }) => name);
  const [{ topics }, { resources }] = await Promise.all([
    admin.fetchTopicMetadata({ topics: names }),
    admin.describeConfigs({
      includeSynonyms: false,
      resources: names.map((name) => ({ type: kafkajs.ConfigResourceTypes.TOPIC, name })),
    }),
  ]);
  return new Map(
    topics.map(({ name, partitions }) => {
      const entries = resources.find(({ resourceName }) => resourceName === name)?.configEntries ?? [];
      return [
        name,
        {
          partitions: partitions.length,
          replication: Math.min(...partitions.map(({ replicas }) => replicas.length)),
          settings: new Map(entries.map(({ configName, configValue }) => [configName, configValue])),
          own: Object.fromEntries(
            entries
              .filter(({ configSource }) => configSource === setOnTopic)
              .map(({ configName, configValue }) => [configName, configValue]),
          ),
        },
      ];
    }),
  );
}
