import type { Config } from '../../config/config.ts';
import { judgeTopicIds, remedyOf } from '../../service/log/judge-topic-ids.ts';
import type { AdminDeps } from '../../service/log/with-admin.ts';
import { PublishedTopics } from '../../store/published-topics.ts';
import { createPool } from '../../store/session/pool.ts';
import { findTopics } from '../topic-ids.ts';
import { type Finding, fail, ok, warn } from './finding.ts';

/**
 * Whether the topics are those we published to. Empty before anything was published, and if the
 * database or Kafka can't be asked: other checks say so.
 */
export async function checkTopicIds(config: Config, deps: AdminDeps): Promise<Finding[]> {
  const { databaseUrl, kafkaBrokers } = config;
  if (databaseUrl === undefined || kafkaBrokers === undefined) return [];
  const pool = createPool(deps, {
    url: databaseUrl.reveal(),
    applicationName: 'tidemark-doctor-topics',
    maxConnections: 1,
    server: 'any',
  });
  try {
    const published = await new PublishedTopics(pool).read();
    const { replaced, unknown } = judgeTopicIds(await findTopics(deps, { ...config, kafkaBrokers }), published);
    const none = warn(
      'topic ids',
      `Kafka gives no id of ${unknown.join(', ')}: a topic that is deleted and made again is not noticed`,
      'Use Kafka 2.8 or newer, with KRaft or inter.broker.protocol.version=2.8; until then compare after each change of topics (`tidemark verify`).',
    );
    const faults = replaced.map((topic) => fail('topic ids', topic.detail, remedyOf(topic)));
    if (faults.length + unknown.length > 0) return [...faults, ...(unknown.length > 0 ? [none] : [])];
    return published.length === 0 ? [] : [ok('topic ids', 'the topics are those that were published to')];
  } catch {
    return [];
  } finally {
    await pool.end().catch(() => {});
  }
}
