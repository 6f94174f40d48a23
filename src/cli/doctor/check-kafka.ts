import type { Admin } from 'kafkajs';
import type { Config } from '../../config/config.ts';
import { plural } from '../../runtime/plural.ts';
import { sentenceOf } from '../../runtime/program-error.ts';
import { judgeTopicEnds, remedyOf } from '../../service/log/judge-topic-ends.ts';
import { type KafkaOptions, kafkaOptions } from '../../service/log/kafka-options.ts';
import { planTopics, topicFindings } from '../../service/log/plan-topics.ts';
import { topicNames, topicSpecs } from '../../service/log/topics.ts';
import { type AdminDeps, withBrokerAt } from '../../service/log/with-admin.ts';
import { PublishedTopics } from '../../store/published-topics.ts';
import { topicsNow } from '../accept-topic.ts';
import { doctorPool, type Finding, fail, ok, warn } from './finding.ts';

/** Checks the reach of each broker, the cluster's size, and the topics with their settings. */
export async function checkKafka(config: Config, deps: AdminDeps): Promise<Finding[]> {
  const { kafkaBrokers } = config;
  if (kafkaBrokers === undefined)
    return [fail('kafka', 'KAFKA_BROKERS is not set', 'Set it to host:port of one or more brokers.')];
  const kafka = kafkaOptions({ ...config, kafkaBrokers });
  const { findings, answering } = await checkBrokers(deps, kafka);
  return [...findings, ...(answering === undefined ? [] : await checkTopics(deps, kafka, answering, config))];
}

/**
 * Asks a broker that answers: another one, down or at a wrong address, must not hide faults of
 * topics. Each fault names its fix after the colon.
 */
async function checkTopics(
  deps: AdminDeps,
  kafka: KafkaOptions,
  at: string,
  { topicPrefix, topicRetentionDays }: Config,
): Promise<Finding[]> {
  try {
    const specs = topicSpecs(topicNames(topicPrefix), topicRetentionDays);
    const found = topicFindings(await withBrokerAt(deps, kafka, at, (admin) => planTopics(admin, specs)));
    const fix = `See \`tidemark topics plan\`.${missingOrForbidden(kafka)}`;
    const wrong = [...found.unready, ...found.doubts].map((fault) => fail('topics', fault, fix));
    const notes = found.notes.map((what) => warn('topics', what, 'See docs/runbooks/TopicsDiffer.md.'));
    return wrong.length + notes.length === 0 ? [ok('topics', 'are as planned')] : [...wrong, ...notes];
  } catch (error) {
    return [
      fail(
        'topics',
        `can't be read: ${sentenceOf(error)}`,
        'Let this user of Kafka describe topics and their settings.',
      ),
    ];
  }
}

/** Kafka gives one answer for a missing topic and for a forbidden one. */
function missingOrForbidden({ sasl, tls }: KafkaOptions): string {
  if (sasl === undefined && tls?.cert === undefined) return '';
  return ' A topic that this user of Kafka may not describe is missing, too.';
}

/** A broker, and the address (`host:port`) that the cluster gives to clients for it. */
interface AdvertisedBroker {
  readonly nodeId: number;
  readonly address: string;
}

/**
 * Whether each broker can be reached: those in KAFKA_BROKERS, and those that the cluster gives to
 * clients for writing. The two often differ; the usual fault is an address valid only inside the
 * cluster's own network. `answering`: an address that answers, for the later checks.
 */
async function checkBrokers(
  deps: AdminDeps,
  kafka: KafkaOptions,
): Promise<{ readonly findings: readonly Finding[]; readonly answering?: string }> {
  const named = await askAll(deps, kafka, kafka.brokers);
  const answering = named.filter((asked) => asked.ok);
  const [first] = answering;
  const advertised = new Map(answering.flatMap(({ brokers }) => brokers.map((broker) => [broker.address, broker])));
  // If the cluster still gives it to clients, it is reported below.
  const silent = named.flatMap((asked) =>
    asked.ok || advertised.has(asked.address) ? [] : [namedFinding(asked, first !== undefined)],
  );
  if (first === undefined) return { findings: silent };

  const unnamed = [...advertised.keys()].filter((address) => !kafka.brokers.includes(address));
  const others = await askAll(deps, kafka, unnamed);
  const known = new Map([...named, ...others].map((asked) => [asked.address, asked]));
  const faults = [...advertised.values()].flatMap((broker) => {
    const asked = known.get(broker.address);
    return asked?.ok === false ? [advertisedFinding(first.address, broker, asked.reason)] : [];
  });
  const cluster = clusterFinding(advertised.size, advertised.size - faults.length);
  return { findings: [...silent, ...faults, cluster], answering: first.address };
}

type Asked =
  | { readonly ok: true; readonly address: string; readonly brokers: readonly AdvertisedBroker[] }
  | { readonly ok: false; readonly address: string; readonly reason: string };

/** Connections at once: a cluster may have hundreds of brokers. */
const atOnce = 16;

async function askAll(deps: AdminDeps, kafka: KafkaOptions, addresses: readonly string[]): Promise<Asked[]> {
  const asked: Asked[] = [];
  for (let from = 0; from < addresses.length; from += atOnce) {
    const some = addresses.slice(from, from + atOnce).map((address) => ask(deps, kafka, address));
    asked.push(...(await Promise.all(some)));
  }
  return asked;
}

async function ask(deps: AdminDeps, kafka: KafkaOptions, address: string): Promise<Asked> {
  try {
    return { ok: true, address, brokers: await withBrokerAt(deps, kafka, address, readBrokers) };
  } catch (error) {
    return { ok: false, address, reason: sentenceOf(error) };
  }
}

async function readBrokers(admin: Admin): Promise<AdvertisedBroker[]> {
  const { brokers } = await admin.describeCluster();
  return brokers.map(({ nodeId, host, port }) => ({
    nodeId,
    address: `${host.includes(':') ? `[${host}]` : host}:${port}`,
  }));
}

/** One of several may be down: the service then starts from another. */
function namedFinding({ address, reason }: Extract<Asked, { ok: false }>, anotherAnswers: boolean): Finding {
  const detail = `${address} of KAFKA_BROKERS does not answer: ${reason}`;
  return anotherAnswers
    ? warn('broker', detail, 'Start it, or take it out of KAFKA_BROKERS; the service starts from another one.')
    : fail('broker', detail, 'Check KAFKA_BROKERS and KAFKA_SSL, KAFKA_SASL_*, and that the brokers run.');
}

function advertisedFinding(at: string, { nodeId, address }: AdvertisedBroker, reason: string): Finding {
  return fail(
    'broker',
    `${at} answers, and sends clients to ${address} for broker ${nodeId}, which does not answer: ${reason}`,
    `Start broker ${nodeId}; if it runs, set its advertised.listeners to an address that this machine reaches.`,
  );
}

function clusterFinding(count: number, reached: number): Finding {
  if (reached < count)
    return warn('kafka', `${reached} of ${plural(count, 'broker')} can be reached`, 'Fix the brokers above.');
  if (count >= 3) return ok('kafka', `${count} brokers answer`);
  const words = count === 1 ? 'one broker answers' : `${count} brokers answer`;
  return warn('kafka', `${words}: a topic has as many copies`, 'Use three or more brokers, unless this is a test.');
}

/**
 * Whether the topics have what was published to them. Empty before anything was published, and if
 * the database or Kafka can't be asked: other checks say so.
 */
export async function checkPublishedTopics(config: Config, deps: AdminDeps): Promise<Finding[]> {
  const { databaseUrl, kafkaBrokers } = config;
  if (databaseUrl === undefined || kafkaBrokers === undefined) return [];
  const pool = doctorPool(deps, databaseUrl);
  try {
    const published = await new PublishedTopics(pool).read();
    const { replaced } = judgeTopicEnds(await topicsNow(deps, { ...config, kafkaBrokers }), published);
    if (replaced.length > 0) return replaced.map((topic) => fail('published topics', topic.detail, remedyOf(topic)));
    return published.length === 0 ? [] : [ok('published topics', 'the topics are those that were published to')];
  } catch {
    return [];
  } finally {
    await pool.end().catch(() => {});
  }
}
