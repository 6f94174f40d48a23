import { z } from 'zod';
import { instant, int64 } from './normalised-order.ts';
import { count, named } from './words.ts';

// The data's way over time, and its readers at Kafka. Both cover the whole service and name no
// account.

const millis = z.number().nonnegative();

const sample = named('HistorySample', 'One sample of rates, latency and waits', {
  at: instant,
  updatesPerSecond: millis.describe('Changes that were committed, since the sample before'),
  p50Ms: millis
    .nullable()
    .describe('From the socket to the acknowledgement of Kafka, since the sample before; null: nothing came'),
  p99Ms: millis.nullable(),
  ingestQueued: count,
  ingestAgeMs: millis.describe('How long the oldest observation had waited to be committed'),
  relayRows: count,
  relayAgeMs: millis.describe('How long the oldest committed row had waited for the updates topic'),
  stateRows: count,
  stateAgeMs: millis,
  resultRows: count,
  resultAgeMs: millis,
  heartbeatAgeMs: millis.nullable().describe('Since a heartbeat last came back from Kafka; null: none yet'),
});

export const historyAnswer = named('History', 'The way of the data in the last hour, as this process saw it', {
  everyMs: z.int().positive().describe('Between two samples'),
  samples: z.array(sample).describe('Oldest first, of the last hour at most'),
});

export type HistoryDocument = z.infer<typeof historyAnswer>;
export type HistorySample = z.infer<typeof sample>;

const groupLag = named('ConsumerLag', 'The lag of a group on one topic', {
  topic: z.string(),
  lag: int64.describe('Offsets that the group has not committed, over its partitions; int64 as text'),
  partitions: count.describe('Of the topic'),
  uncommitted: count.describe('Partitions of which the group has committed no offset: they are not in `lag`'),
});

const group = named('ConsumerGroup', 'A consumer group, with its lag by topic', {
  groupId: z.string(),
  topics: z.array(groupLag),
});

export const consumersAnswer = named('ConsumerGroupList', 'Consumer groups of the topics with their lag', {
  at: instant.describe('When Kafka was asked'),
  items: z.array(group).describe('Groups that have committed offsets of our topics, by their id'),
  unread: z.array(z.string()).describe('Groups whose offsets Kafka did not show'),
  notAsked: count.describe('Groups beyond the number that is asked for'),
});

export type ConsumersDocument = z.infer<typeof consumersAnswer>;
