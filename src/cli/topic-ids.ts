import type { Pool } from 'pg';
import type { ConfigWith } from '../config/config.ts';
import { type FoundTopic, foundTopics, judgeTopicIds, type TopicKind } from '../service/log/judge-topic-ids.ts';
import { kafkaOptions } from '../service/log/kafka-options.ts';
import { readTopicIds } from '../service/log/kafkajs/read-topic-ids.ts';
import { topicNames } from '../service/log/topics.ts';
import { type AdminDeps, withAdmin } from '../service/log/with-admin.ts';
import { PublishedTopics } from '../store/published-topics.ts';

/** The five topics of this installation with Kafka's ids. Rejects when no broker answers. */
export async function findTopics(deps: AdminDeps, config: ConfigWith<'kafkaBrokers'>): Promise<FoundTopic[]> {
  const names = topicNames(config.topicPrefix);
  const ids = await withAdmin(deps, kafkaOptions(config), (_, client) => readTopicIds(client, Object.values(names)));
  return foundTopics(names, ids);
}

/**
 * From now on this is the topic we publish to: a repair has written everything to it as `found` had
 * it before the repair began, or a person has given up what was on it. True: it was another one
 * before. A topic that is gone, or has no id, is not accepted.
 */
export async function acceptTopic(
  pool: Pick<Pool, 'query'>,
  found: readonly FoundTopic[],
  kind: TopicKind,
): Promise<boolean> {
  const published = new PublishedTopics(pool);
  const topic = found.find((each) => each.kind === kind);
  if (typeof topic?.id !== 'string') return false;
  const { replaced, first } = judgeTopicIds([topic], await published.read());
  if (replaced.length + first.length === 0) return false;
  await published.accept([{ kind, name: topic.name, topicId: topic.id }]);
  return replaced.length > 0;
}
