import { randomBytes } from 'node:crypto';
import { type TopicNames, topicNames } from '../../../src/service/log/topics.ts';

/**
 * A prefix that no other test uses, for topic names, consumer groups and
 * transactional ids: all tests share one broker, and a group or transaction of a
 * killed test may live on there for a minute.
 */
export function topicPrefix(): string {
  return `t${randomBytes(6).toString('hex')}.`;
}

/** The prefix that these topics were made with. */
export function prefixOf({ updates }: TopicNames): string {
  return updates.slice(0, -topicNames().updates.length);
}
