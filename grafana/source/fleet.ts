import type { Dashboard } from './dashboard.ts';
import type { Panel } from './panel.ts';
import { ageOfOldest, byInstance, increaseBy, job, meanBy, rateBy } from './queries.ts';

const members: readonly Panel[] = [
  {
    kind: 'figure',
    title: 'Processes',
    description: 'Instances that hold a lane. Each running instance should.',
    unit: 'none',
    queries: [{ expr: `sum(tidemark_lane_held{${job}})`, legend: 'processes' }],
    limits: { red: 1, below: true },
    runbooks: ['NoLaneHolder'],
    width: 8,
  },
  {
    kind: 'figure',
    title: 'Shards held',
    description: 'Groups of accounts that some instance follows. 16 as a rule.',
    unit: 'none',
    queries: [{ expr: `sum(tidemark_shards_held{${job}})`, legend: 'held' }],
    limits: { red: 1, below: true },
    runbooks: ['ShardsUnassigned'],
    width: 8,
  },
  {
    kind: 'figure',
    title: 'Shards without a process',
    description: 'Their accounts are followed by no instance. A shard that moves is without one for a second or three.',
    unit: 'none',
    queries: [
      {
        expr: `min(tidemark_shards_unassigned{${job}} and on (job, instance) tidemark_lane_held{${job}} == 1)`,
        legend: 'unassigned',
      },
    ],
    limits: { red: 1 },
    runbooks: ['ShardsUnassigned'],
    width: 8,
  },
  {
    kind: 'lines',
    title: 'Shards',
    description:
      'Groups of accounts that each instance follows, those that no live instance holds, and 1 for an unhealthy one.',
    unit: 'none',
    queries: [
      { expr: byInstance('tidemark_shards_held'), legend: '{{instance}}' },
      { expr: `min by (job) (tidemark_shards_unassigned{${job}})`, legend: 'no instance' },
      { expr: byInstance('tidemark_unhealthy'), legend: '{{instance}} is unhealthy' },
    ],
    runbooks: ['ShardsUnassigned', 'Unhealthy'],
    width: 12,
  },
  {
    kind: 'lines',
    title: 'Who holds a lane',
    description: '1: this instance holds one, as each of them should.',
    unit: 'none',
    queries: [{ expr: byInstance('tidemark_lane_held'), legend: '{{instance}}' }],
    runbooks: ['NoLaneHolder'],
    width: 12,
  },
];

const moves: readonly Panel[] = [
  {
    kind: 'lines',
    title: 'Moves of shards',
    description:
      'taken: an instance began to follow the accounts of a shard. given: it left them to another one. kept: it could not give it in time, because Kafka or the database was away. lost: another instance had taken it.',
    unit: 'short',
    queries: [
      { expr: increaseBy('job, instance, move', 'tidemark_shard_moves_total'), legend: '{{instance}} {{move}}' },
    ],
    runbooks: ['ShardsUnassigned'],
  },
  {
    kind: 'lines',
    title: 'Lanes finished',
    description:
      'Lanes without a live process whose log this instance published to the end, so that their shards are free; also those that another one finished meanwhile. failed: Kafka or the database was away, and it tries again.',
    unit: 'short',
    queries: [
      {
        expr: increaseBy('job, instance, result', 'tidemark_lane_finishes_total'),
        legend: '{{instance}} {{result}}',
      },
    ],
    runbooks: ['ShardsUnassigned'],
  },
  {
    kind: 'lines',
    title: 'Takeovers',
    description:
      'How often an instance took the lane, by cause. released: it was given back, as in a rolling restart. expired: its holder had fallen silent. own: an answer of the database was lost.',
    unit: 'short',
    queries: [
      { expr: increaseBy('job, instance, cause', 'tidemark_lane_takeovers_total'), legend: '{{instance}} {{cause}}' },
    ],
    runbooks: ['NoLaneHolder'],
  },
  {
    kind: 'lines',
    title: 'Time without a holder, mean',
    description:
      'How long the lane had been free, or its holder silent, when another took it. expired is at least TIDEMARK_LEASE_TTL_MS, and 10 s at most is promised.',
    unit: 's',
    queries: [{ expr: meanBy('job, cause', 'tidemark_lane_takeover_seconds'), legend: '{{cause}}' }],
    limits: { amber: 10 },
    runbooks: ['NoLaneHolder'],
  },
  {
    kind: 'lines',
    title: 'Fenced',
    description:
      'Writes that Postgres or Kafka refused because another instance had taken the lane: a holder woke from a freeze, and could do no harm.',
    unit: 'short',
    queries: [{ expr: increaseBy('job, instance, by', 'tidemark_fenced_total'), legend: '{{instance}} by {{by}}' }],
  },
  {
    kind: 'lines',
    title: 'Epoch of the lane',
    description: 'Rises by one at each takeover and each reclaim after a lost answer of the database.',
    unit: 'none',
    queries: [{ expr: byInstance('tidemark_lane_epoch'), legend: '{{instance}}' }],
  },
];

const work: readonly Panel[] = [
  {
    kind: 'lines',
    title: 'Batches',
    description:
      'Committed batches a second, by instance. Where one has far more than its part, its shards have the busy accounts.',
    unit: 'ops',
    queries: [{ expr: rateBy('job, instance', 'tidemark_batch_size_count'), legend: '{{instance}}' }],
    width: 12,
  },
  {
    kind: 'lines',
    title: 'Not on Kafka yet',
    description: 'Committed updates of the lane of each instance that Kafka has not acknowledged.',
    unit: 'short',
    queries: [
      { expr: `max by (job, instance) (tidemark_log_pending{${job},topic="updates"})`, legend: '{{instance}}' },
    ],
    runbooks: ['RelayStuck'],
    width: 12,
  },
  {
    kind: 'lines',
    title: 'Oldest not on Kafka',
    description: 'How long the oldest row of the lane of each instance has waited for Kafka.',
    unit: 's',
    queries: [
      { expr: ageOfOldest('job, instance', 'tidemark_log_oldest_pending_timestamp_seconds'), legend: '{{instance}}' },
    ],
    limits: { amber: 10, red: 30 },
    runbooks: ['RelayStuck'],
    width: 12,
  },
  {
    kind: 'lines',
    title: 'Forwarded to the holder',
    description:
      'Requests for accounts of another instance. Unanswered: it was asked, and the caller does not know the result. Not sent: it could not be reached, or 64 were under way.',
    unit: 'none',
    queries: [{ expr: increaseBy('result', 'tidemark_rest_forwards_total'), legend: '{{result}}' }],
    width: 12,
  },
];

/**
 * The processes together: who follows which part of the accounts,
 * how that changes, and how each one does.
 */
export const fleet: Dashboard = {
  uid: 'tidemark-fleet',
  title: 'Tidemark: fleet',
  description: 'How the processes share the accounts, how shards move between them, and how each lane does.',
  rows: [
    { title: 'Members', panels: members },
    { title: 'Moves', panels: moves },
    { title: 'Lanes', panels: work },
  ],
};
