import type { Pool } from 'pg';
import type { ConfigWith } from '../config/config.ts';
import { type FoundTopic, findTopics, judgeTopicEnds, type TopicKind } from '../service/log/judge-topic-ends.ts';
import { kafkaOptions } from '../service/log/kafka-options.ts';
import { topicNames } from '../service/log/topics.ts';
import { type AdminDeps, withAdmin } from '../service/log/with-admin.ts';
import { PublishedTopics } from '../store/published-topics.ts';

/** The five topics of this installation with their ends. Rejects when no broker answers. */
export function topicsNow(deps: AdminDeps, config: ConfigWith<'kafkaBrokers'>): Promise<FoundTopic[]> {
  return withAdmin(deps, kafkaOptions(config), (admin) => findTopics(admin, topicNames(config.topicPrefix)));
}

/**
 * From now on this is the topic we publish to: a repair has written everything to it as `found` had
 * it before the repair began, or a person has given up what was on it. True: it lacked records
 * before. A topic that is gone is not accepted.
 */
export async function acceptTopic(
  pool: Pick<Pool, 'query'>,
  found: readonly FoundTopic[],
  kind: TopicKind,
): Promise<boolean> {
  const published = new PublishedTopics(pool);
  const topic = found.find((each) => each.kind === kind);
  if (topic?.ends === undefined) return false;
  if (judgeTopicEnds([topic], await published.read()).replaced.length === 0) return false;
  await published.accept([{ kind, name: topic.name, ends: topic.ends, lost: null }]);
  return true;
}
