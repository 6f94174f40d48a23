import { integer, text } from './option.ts';

/** For Kafka's topics (`service/log/topics.ts`). */
export const topicOptions = {
  topicPrefix: text({
    env: 'TIDEMARK_TOPIC_PREFIX',
    pattern: /^[A-Za-z0-9._-]{0,100}$/,
    shape: 'up to 100 of A-Z a-z 0-9 . _ -',
    fallback: '',
    describe: 'Put before every topic name, so that several installations share a cluster.',
  }),
  topicRetentionDays: integer({
    env: 'TIDEMARK_TOPIC_RETENTION_DAYS',
    unit: 'days',
    min: 1,
    max: 3650,
    fallback: '7',
    describe:
      'How long the topics of updates, continuity and outcomes keep their records, by the plan of `tidemark topics`. It never shortens a topic by itself: `topics apply --delete-records` does.',
  }),
} as const;
