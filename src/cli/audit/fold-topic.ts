import type { FollowDeps } from '../../kafka/follow-topic.ts';
import type { KafkaOptions } from '../../kafka/kafka-options.ts';
import { readTopic } from '../../kafka/read-topic.ts';
import { TopicFold } from './topic-fold.ts';

/** A connection that breaks is made again; a broker that does not come back ends the reading. */
const mostFailures = 5;

/** Reads a topic from its first record to its end. Rejects with the last failure when the brokers stay away. */
export async function foldTopic(
  deps: FollowDeps,
  options: { readonly kafka: KafkaOptions; readonly topic: string; readonly byPlace: boolean },
): Promise<TopicFold> {
  const { kafka, topic, byPlace } = options;
  const fold = new TopicFold({ byPlace });
  const over = new AbortController();
  let failures = 0;
  let last: unknown;
  const records = readTopic(deps, {
    kafka,
    topic,
    from: 'beginning',
    until: 'end',
    readCommitted: true,
    signal: over.signal,
    onFailure: (error) => {
      failures += 1;
      last = error;
      if (failures >= mostFailures) over.abort();
    },
  });
  for await (const record of records) fold.take(record);
  if (over.signal.aborted) throw last;
  return fold;
}
