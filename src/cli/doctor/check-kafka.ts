import type { Config } from '../../config/config.ts';
import { planTopics } from '../../kafka/plan-topics.ts';
import { topicFaults } from '../../kafka/topic-faults.ts';
import { topicNames, topicSpecs } from '../../kafka/topics.ts';
import { type AdminDeps, withAdmin } from '../../kafka/with-admin.ts';
import { kafkaOptions } from '../kafka-options.ts';
import { sentenceOf } from '../report-error.ts';
import { type Finding, fail, ok, warn } from './finding.ts';

/** Reach of the cluster, its size, and the topics with their settings. */
export async function checkKafka(config: Config, deps: AdminDeps): Promise<Finding[]> {
  const { kafkaBrokers } = config;
  if (kafkaBrokers === undefined)
    return [fail('kafka', 'KAFKA_BROKERS is not set', 'Set it to host:port of one or more brokers.')];
  try {
    return await withAdmin(deps, kafkaOptions({ ...config, kafkaBrokers }), async (admin) => {
      const { brokers } = await admin.describeCluster();
      const faults = topicFaults(await planTopics(admin, topicSpecs(topicNames(config.topicPrefix))));
      return [clusterFinding(brokers.length), ...topicFindings(faults)];
    });
  } catch (error) {
    return [
      fail(
        'kafka',
        `does not answer: ${sentenceOf(error)}`,
        'Check KAFKA_BROKERS and KAFKA_SSL, KAFKA_SASL_*, and that the brokers run.',
      ),
    ];
  }
}

function clusterFinding(count: number): Finding {
  if (count >= 3) return ok('kafka', `${count} brokers answer`);
  const words = count === 1 ? 'one broker answers' : `${count} brokers answer`;
  return warn('kafka', `${words}: a topic has as many copies`, 'Use three or more brokers, unless this is a test.');
}

/** Each fault of a topic already says what mends it, after its colon. */
function topicFindings(faults: readonly string[]): Finding[] {
  if (faults.length === 0) return [ok('topics', 'are as planned')];
  return faults.map((fault) => fail('topics', fault, 'See `tidemark topics plan`.'));
}
