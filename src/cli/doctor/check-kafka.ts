import type { Config } from '../../config/config.ts';
import type { KafkaOptions } from '../../kafka/kafka-options.ts';
import { planTopics } from '../../kafka/plan-topics.ts';
import { topicFaults } from '../../kafka/topic-faults.ts';
import { topicNames, topicSpecs } from '../../kafka/topics.ts';
import type { AdminDeps } from '../../kafka/with-admin.ts';
import { withBrokerAt } from '../../kafka/with-broker-at.ts';
import { kafkaOptions } from '../kafka-options.ts';
import { sentenceOf } from '../report-error.ts';
import { checkBrokers } from './check-brokers.ts';
import { type Finding, fail, ok } from './finding.ts';

/** Reach of each broker, the size of the cluster, and the topics with their settings. */
export async function checkKafka(config: Config, deps: AdminDeps): Promise<Finding[]> {
  const { kafkaBrokers } = config;
  if (kafkaBrokers === undefined)
    return [fail('kafka', 'KAFKA_BROKERS is not set', 'Set it to host:port of one or more brokers.')];
  const kafka = kafkaOptions({ ...config, kafkaBrokers });
  const { findings, answering } = await checkBrokers(deps, kafka);
  if (answering === undefined) return [...findings];
  return [...findings, ...(await checkTopics(deps, kafka, answering, config.topicPrefix))];
}

/** Asked of a broker that answers: one that is away, or told wrongly, does not hide what is to be said of topics. Each fault of a topic says what mends it, after its colon. */
async function checkTopics(deps: AdminDeps, kafka: KafkaOptions, at: string, prefix: string | undefined): Promise<Finding[]> {
  try {
    const specs = topicSpecs(topicNames(prefix));
    const faults = topicFaults(await withBrokerAt(deps, kafka, at, (admin) => planTopics(admin, specs)));
    if (faults.length === 0) return [ok('topics', 'are as planned')];
    return faults.map((fault) => fail('topics', fault, `See \`tidemark topics plan\`.${hidden(kafka)}`));
  } catch (error) {
    return [fail('topics', `can't be read: ${sentenceOf(error)}`, 'Let this user of Kafka describe topics and their settings.')];
  }
}

/** Kafka does not tell a topic that is not there from one that this user has no right to. */
function hidden({ sasl, tls }: KafkaOptions): string {
  if (sasl === undefined && tls?.cert === undefined) return '';
  return ' A topic that this user of Kafka may not describe is missing, too.';
}
