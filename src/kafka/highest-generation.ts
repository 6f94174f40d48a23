import type { FollowDeps } from './follow-topic.ts';
import type { KafkaOptions } from './kafka-options.ts';
import { readTopic } from './read-topic.ts';
import { updatePosition } from './update-position.ts';

/**
 * The highest generation that is on the state topic; 0 where there is nothing. Reads the topic whole, about a minute for a million orders. Not the topic of updates:
 * that one is many times as long, and each of its records is on this one a second later. Rejects when the topic can't be read.
 */
export async function highestGeneration(deps: FollowDeps, kafka: KafkaOptions, stateTopic: string): Promise<number> {
  const failed = new AbortController();
  let failure: unknown;
  let highest = 0;
  const records = readTopic(deps, {
    kafka,
    topic: stateTopic,
    from: 'beginning',
    until: 'end',
    readCommitted: true,
    signal: failed.signal,
    onFailure: (error) => {
      failure = error;
      failed.abort();
    },
  });
  for await (const { value } of records) {
    const found = updatePosition(value ?? '')?.generation ?? 0;
    if (found > highest) highest = found;
  }
  if (failure !== undefined) throw failure;
  return highest;
}
