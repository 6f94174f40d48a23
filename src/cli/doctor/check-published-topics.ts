import type { Config } from '../../config/config.ts';
import { judgeTopicEnds, remedyOf } from '../../service/log/judge-topic-ends.ts';
import type { AdminDeps } from '../../service/log/with-admin.ts';
import { PublishedTopics } from '../../store/published-topics.ts';
import { createPool } from '../../store/session/pool.ts';
import { topicsNow } from '../accept-topic.ts';
import { type Finding, fail, ok } from './finding.ts';

/**
 * Whether the topics have what was published to them. Empty before anything was published, and if
 * the database or Kafka can't be asked: other checks say so.
 */
export async function checkPublishedTopics(config: Config, deps: AdminDeps): Promise<Finding[]> {
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
    const { replaced } = judgeTopicEnds(await topicsNow(deps, { ...config, kafkaBrokers }), published);
    if (replaced.length > 0) return replaced.map((topic) => fail('published topics', topic.detail, remedyOf(topic)));
    return published.length === 0 ? [] : [ok('published topics', 'the topics are those that were published to')];
  } catch {
    return [];
  } finally {
    await pool.end().catch(() => {});
  }
}
