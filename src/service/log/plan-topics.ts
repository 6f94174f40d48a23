import kafkajs, { type Admin } from 'kafkajs';
import type { Clock } from '../../runtime/clock.ts';
import type { KafkaOptions } from './kafka-options.ts';
import { kafkaErrorType } from './publish-sends.ts';
import { type TopicNames, type TopicSpec, topicSpecs } from './topics.ts';
import { type AdminDeps, withAdmin } from './with-admin.ts';

interface TopicCreation {
  readonly spec: TopicSpec;
  readonly replication: number;
  readonly settings: Readonly<Record<string, string>>;
}

interface TopicAlteration {
  readonly topic: string;
  readonly replication: number;
  readonly changes: readonly SettingChange[];
  /** All settings on the topic itself now: kafkajs only has the call that replaces them all. */
  readonly own: Readonly<Record<string, string>>;
}

/**
 * The differences between the topics as they are and as they should be. All are empty when there is
 * nothing to do.
 */
export interface TopicPlan {
  readonly creations: readonly TopicCreation[];
  readonly alterations: readonly TopicAlteration[];
  /** Differences that only a person can resolve, in sentences: partition counts, mostly. */
  readonly faults: readonly string[];
  /** For people to know; nothing is done about them. */
  readonly notes: readonly string[];
  /** Topics whose settings this user of Kafka may not read. */
  readonly unread: readonly string[];
}

/**
 * Compares the wanted topics with those found. Changes nothing; rejects when the brokers don't
 * answer.
 */
export async function planTopics(admin: Admin, specs: readonly TopicSpec[]): Promise<TopicPlan> {
  const [existing, { brokers }] = await Promise.all([admin.listTopics(), admin.describeCluster()]);
  const present = specs.filter(({ name }) => existing.includes(name));
  const missing = specs.filter(({ name }) => !existing.includes(name));
  const replication = Math.min(3, brokers.length);
  const creations = missing.map((spec) => ({ spec, replication, settings: wantedSettings(spec, replication) }));
  // Asked for no topic, Kafka answers about all.
  const found = present.length === 0 ? new Map<string, FoundTopic>() : await describe(admin, present);
  const faults: string[] = [];
  const alterations: TopicAlteration[] = [];
  const notes: string[] = [];
  const unread: string[] = [];
  for (const spec of present) {
    const topic = found.get(spec.name);
    if (topic === undefined) continue;
    if (topic.partitions !== spec.partitions && spec.anyCount !== true) {
      faults.push(
        `${spec.name} has ${topic.partitions} partitions, planned are ${spec.partitions}: the count is fixed for life, make the topic anew`,
      );
    }
    const wanted = wantedSettings(spec, topic.replication);
    const changes = Object.entries(topic.unread ? {} : wanted)
      .filter(([setting, value]) => topic.settings.get(setting) !== value)
      .map(([setting, value]) => changeOf(setting, topic.settings.get(setting) ?? '', value));
    if (topic.unread) unread.push(spec.name);
    if (topic.replication < replication)
      notes.push(`${spec.name} has ${topic.replication} replicas, the cluster has brokers for ${replication}`);
    if (changes.length > 0)
      alterations.push({ topic: spec.name, replication: topic.replication, changes, own: topic.own });
  }
  return { creations, alterations, faults, notes, unread };
}

function changeOf(setting: string, found: string, wanted: string): SettingChange {
  const deletes = deletedBy(setting, found, wanted);
  return { setting, found, wanted, ...(deletes !== undefined && { deletes }) };
}

/**
 * The lane continues while one replica is away; with one or two replicas, the settings are the best
 * possible.
 */
function wantedSettings(spec: TopicSpec, replication: number): Record<string, string> {
  return { ...spec.settings, 'min.insync.replicas': String(Math.max(1, replication - 1)) };
}

interface FoundTopic {
  readonly partitions: number;
  readonly replication: number;
  /** This user may not read the settings: they are empty here. */
  readonly unread: boolean;
  /** Effective settings, including the broker's defaults. */
  readonly settings: ReadonlyMap<string, string>;
  /** Those set on the topic itself. */
  readonly own: Readonly<Record<string, string>>;
}

/**
 * `ConfigSource.TOPIC_CONFIG`, as a number: kafkajs's enum is declared and not exported by every
 * build.
 */
const setOnTopic = 1;

async function describe(admin: Admin, specs: readonly TopicSpec[]): Promise<Map<string, FoundTopic>> {
  const names = specs.map(({ name }) => name);
  const [{ topics }, ...settings] = await Promise.all([
    admin.fetchTopicMetadata({ topics: names }),
    ...names.map((name) => settingsOf(admin, name)),
  ]);
  return new Map(
    topics.map(({ name, partitions }) => {
      const read = settings[names.indexOf(name)];
      const entries = read ?? [];
      return [
        name,
        {
          partitions: partitions.length,
          replication: Math.min(...partitions.map(({ replicas }) => replicas.length)),
          unread: read === undefined,
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

/**
 * A topic's settings; undefined if this user may not read them. Each topic is asked for alone: one
 * refusal would hide the settings of all, and a missing right is no silence of Kafka.
 */
async function settingsOf(admin: Admin, name: string) {
  const asked = [{ type: kafkajs.ConfigResourceTypes.TOPIC, name }];
  try {
    return (
      (await admin.describeConfigs({ includeSynonyms: false, resources: asked })).resources[0]?.configEntries ?? []
    );
  } catch (err) {
    if (kafkaErrorType(err) === 'TOPIC_AUTHORIZATION_FAILED') return undefined;
    throw err;
  }
}

/**
 * The topics' differences by their meaning, one sentence each (`judge-topics.ts`). All empty: as
 * planned.
 */
interface TopicFindings {
  readonly unready: readonly string[];
  readonly doubts: readonly string[];
  readonly notes: readonly string[];
}

export function topicFindings(plan: TopicPlan): TopicFindings {
  const settings = plan.alterations.flatMap(({ topic, replication, changes }) =>
    changes.map((change) => {
      const { effect, because } = judgeSetting(change, replication);
      const { setting, found, wanted } = change;
      const text = `${topic} has ${setting}=${found || '(unset)'}, planned is ${wanted}: ${because}${remedyFor(change)}`;
      return { effect, text };
    }),
  );
  const textsOf = (wanted: 'doubt' | 'note') =>
    settings.filter(({ effect }) => effect === wanted).map(({ text }) => text);
  return {
    unready: [
      ...plan.creations.map(({ spec }) => `${spec.name} is missing: run \`tidemark topics apply\``),
      ...plan.faults,
    ],
    doubts: [...textsOf('doubt'), ...plan.unread.map(withoutRight)],
    notes: [...textsOf('note'), ...plan.notes],
  };
}

export function withoutRight(topic: string): string {
  return `the settings of ${topic} can't be read, so it is not known whether they are as planned: this user of Kafka may not; grant it DescribeConfigs on the topic (docs/security.md)`;
}

/** Never a command that deletes records without saying so. */
function remedyFor({ setting, deletes }: SettingChange): string {
  if (deletes === undefined) return '; `tidemark topics apply` sets it as planned';
  const keep = setting === 'retention.ms' ? '; to keep it, raise TIDEMARK_TOPIC_RETENTION_DAYS' : '';
  return `${keep}; to set it as planned would delete ${deletes}, and \`tidemark topics apply\` leaves it`;
}

/**
 * Makes the missing topics and alters settings. Never touches a partition count or a replica: those
 * are the plan's faults, for a person. A change that deletes records is made with `deleteRecords`
 * alone. Safe to run twice. Resolves once each new topic's partitions have leaders that know it, so
 * that the first send is not refused.
 */
export async function applyTopics(
  admin: Admin,
  plan: TopicPlan,
  clock: Clock,
  { deleteRecords = false }: { readonly deleteRecords?: boolean } = {},
): Promise<void> {
  if (plan.creations.length > 0) {
    // False (another process made it in the meantime) is fine too.
    await admin.createTopics({
      // kafkajs's own waiting rejects when a broker does not know the topic yet.
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
  const resources = plan.alterations.flatMap(({ topic, changes, own }) => {
    const made = changes.filter(({ deletes }) => deletes === undefined || deleteRecords);
    if (made.length === 0) return [];
    const settings = { ...own, ...Object.fromEntries(made.map(({ setting, wanted }) => [setting, wanted])) };
    return [{ type: kafkajs.ConfigResourceTypes.TOPIC, name: topic, configEntries: configEntries(settings) }];
  });
  if (resources.length > 0) await admin.alterConfigs({ validateOnly: false, resources });
}

/**
 * Brokers learn about a new topic one after the other, and the metadata names its leaders before
 * these know it themselves: so this asks the leaders.
 */
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

/** Kafka's answer about the topics. `faulty`: nothing can be written as it should be. */
export interface TopicsAnswer extends TopicFindings {
  readonly kind: 'planned' | 'faulty';
}

/** And why it gives none. */
export type TopicsState = TopicsAnswer | { readonly kind: 'silent'; readonly why: string };

/** How the topics differ from the plan. Never rejects. */
export async function checkTopics(
  deps: AdminDeps,
  options: KafkaOptions,
  names: TopicNames,
  retentionDays?: number,
): Promise<TopicsState> {
  try {
    const specs = topicSpecs(names, retentionDays);
    const findings = await withAdmin(deps, options, async (admin) => topicFindings(await planTopics(admin, specs)));
    return { kind: findings.unready.length === 0 ? 'planned' : 'faulty', ...findings };
  } catch (err) {
    return { kind: 'silent', why: err instanceof Error ? err.message : String(err) };
  }
}

/**
 * The meaning of a fact about the topics. All processes share one Kafka, so a fact that makes
 * them unready takes all of them out of traffic at once: reads, cancels and halts too (decision
 * 052).
 *
 * - `unready`: nothing can be written as it should be: a missing topic, another count of
 *   partitions.
 * - `doubt`: everything flows, and data may be lost or refused: in `/status`, with an alert.
 * - `note`: everything flows, and nothing can be lost by it.
 */
interface Verdict {
  /** Of a setting. */
  readonly effect: 'doubt' | 'note';
  readonly because: string;
}

/** A topic's setting that differs from the plan. */
interface SettingChange {
  readonly setting: string;
  /** Empty: the broker shows none. */
  readonly found: string;
  readonly wanted: string;
  /** The records that Kafka deletes once the topic has the wanted value. Left out: none. */
  readonly deletes?: string;
}

/** -1 and nothing: without a limit. */
function limit(value: string): number {
  const number = Number(value);
  return value === '' || number < 0 ? Number.POSITIVE_INFINITY : number;
}

const doubt = (because: string): Verdict => ({ effect: 'doubt', because });
const note = (because: string): Verdict => ({ effect: 'note', because });

/** For each planned setting: the meaning of another value. */
const rules: Readonly<Record<string, (found: string, wanted: string, replication: number) => Verdict>> = {
  'retention.ms': (found, wanted) =>
    limit(found) > limit(wanted)
      ? note('records stay longer than planned')
      : doubt('records go earlier than planned, perhaps before a consumer has read them'),
  'retention.bytes': () => doubt('records go by the size of the topic, however new they are'),
  'cleanup.policy': () => doubt('other records go than planned'),
  'max.message.bytes': (found, wanted) =>
    limit(found) > limit(wanted)
      ? note('larger records are taken')
      : doubt('a record that is larger is refused, and those behind it wait'),
  'min.compaction.lag.ms': (found, wanted) =>
    limit(found) > limit(wanted)
      ? note('superseded states stay longer')
      : note('a slow reader sees fewer of the superseded states'),
  'segment.bytes': () => note('records are compacted or deleted in other pieces'),
  'min.insync.replicas': (found, wanted, replication) => {
    if (limit(found) < limit(wanted)) return doubt('a record that Kafka acknowledged may be lost with one broker');
    return limit(found) > replication
      ? doubt(`the topic has ${replication} replicas, so that nothing can be written`)
      : note('nothing can be written while one broker is away');
  },
};

/** A changed setting's meaning. One without a rule is a doubt. */
function judgeSetting({ setting, found, wanted }: SettingChange, replication: number): Verdict {
  return rules[setting]?.(found, wanted, replication) ?? doubt('it is another than planned');
}

/** The records that a change to the plan deletes; undefined: none. */
function deletedBy(setting: string, found: string, wanted: string): string | undefined {
  if (setting === 'retention.ms' && limit(wanted) < limit(found)) return `records older than ${days(Number(wanted))}`;
  // Compaction keeps each key's newest record, and such a topic needs no other.
  if (setting === 'cleanup.policy' && wanted === 'delete' && !found.split(',').includes('delete'))
    return 'records older than its retention';
  return undefined;
}

function days(ms: number): string {
  return `${Math.round(ms / 8_640_000) / 10} days`;
}
