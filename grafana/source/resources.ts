import type { Dashboard } from './dashboard.ts';
import type { Panel } from './panel.ts';
import { byInstance, increaseBy, job, rateBy } from './queries.ts';

const processes: readonly Panel[] = [
  {
    kind: 'lines',
    title: 'Scraped',
    description: '1: Prometheus reaches the instance.',
    unit: 'none',
    queries: [{ expr: byInstance('up'), legend: '{{instance}}' }],
    limits: { red: 1, below: true },
    runbooks: ['TargetDown'],
  },
  {
    kind: 'lines',
    title: 'Commits lost',
    description:
      'How often the database came back without commits that it had acknowledged: a failover to a standby that was behind, or a restore. Each began a generation and halted placing.',
    unit: 'short',
    queries: [{ expr: increaseBy('job, instance', 'tidemark_database_commits_lost_total'), legend: '{{instance}}' }],
    runbooks: ['CommitsLost'],
  },
  {
    kind: 'lines',
    title: 'Uptime',
    description: 'Since the process began.',
    unit: 's',
    queries: [{ expr: `time() - ${byInstance('process_start_time_seconds')}`, legend: '{{instance}}' }],
    runbooks: ['Restarting'],
  },
  {
    kind: 'lines',
    title: 'CPU',
    description: 'Cores in use. The work is on one thread: near 1 it is the limit.',
    unit: 'none',
    queries: [{ expr: rateBy('job, instance', 'process_cpu_seconds_total'), legend: '{{instance}}' }],
    limits: { amber: 0.8 },
    runbooks: ['QueueSaturated'],
  },
  {
    kind: 'lines',
    title: 'Memory',
    description: 'Resident memory, and the heap in use.',
    unit: 'bytes',
    queries: [
      { expr: byInstance('process_resident_memory_bytes'), legend: '{{instance}} resident' },
      { expr: byInstance('nodejs_heap_size_used_bytes'), legend: '{{instance}} heap' },
    ],
    runbooks: ['Restarting'],
  },
  {
    kind: 'lines',
    title: 'Event loop lag, p99',
    description:
      'How late the event loop turns, with the 50 ms from sample to sample in it. Above a second ten times in a row, /livez fails.',
    unit: 's',
    queries: [{ expr: byInstance('nodejs_eventloop_lag_p99_seconds'), legend: '{{instance}}' }],
    limits: { amber: 0.1, red: 1 },
    runbooks: ['FreshnessBurn'],
  },
  {
    kind: 'lines',
    title: 'Garbage collection',
    description: 'Share of the time spent in it.',
    unit: 'percentunit',
    queries: [
      {
        expr: rateBy('job, instance', 'nodejs_gc_duration_seconds_sum'),
        legend: '{{instance}}',
      },
    ],
    limits: { amber: 0.1 },
  },
  {
    kind: 'lines',
    title: 'Waiting for a database connection',
    description:
      'Callers of the pool of upkeep that wait. Above 0 for long: TIDEMARK_DATABASE_POOL_SIZE is too small, or the database is slow.',
    unit: 'none',
    queries: [{ expr: byInstance('tidemark_db_pool_waiting'), legend: '{{instance}}' }],
    limits: { amber: 1 },
  },
  {
    kind: 'lines',
    title: 'Database on disk',
    description:
      'What the database takes, the part of the log of updates, and what it may take (TIDEMARK_DATABASE_BUDGET_MB; 0: not configured). Without the write-ahead log.',
    unit: 'bytes',
    queries: ['tidemark_database_bytes', 'tidemark_log_bytes', 'tidemark_database_budget_bytes'].map((metric) => ({
      expr: `max by (job) (${metric}{${job}})`,
      legend: `{{job}} ${metric.replace(/^tidemark_|_bytes$/g, '').replace('_', ' ')}`,
    })),
    runbooks: ['DatabaseFilling'],
  },
  {
    kind: 'lines',
    title: 'Dead versions of lane rows',
    description:
      'What vacuum may not take away yet. It stays below a few hundred, unless a snapshot is held open (a backup, a standby with feedback, an idle transaction): then each renewal of the lease adds one, every 2 s, and each batch walks past them all. `tidemark doctor` names who holds it.',
    unit: 'short',
    queries: [{ expr: `max by (job) (tidemark_lane_dead_rows{${job}})`, legend: '{{job}}' }],
    limits: { amber: 1000, red: 5000 },
  },
  {
    kind: 'lines',
    title: 'Clocks',
    description:
      'How far the clock of each process is ahead of that of Postgres and of the platform; below zero: behind. The same for all processes speaks of the other clock, for one alone of its machine.',
    unit: 's',
    queries: [
      { expr: `max by (instance, of) (tidemark_clock_ahead_seconds{${job}})`, legend: '{{instance}} and {{of}}' },
    ],
    limits: { amber: 5, red: 30 },
    runbooks: ['ClockSkewed'],
  },
  {
    kind: 'lines',
    title: 'Topics made again',
    description:
      'Topics that are not those that were published to: what was on them is gone. `tidemark doctor` names them.',
    unit: 'short',
    queries: [{ expr: `max by (job) (tidemark_topics_replaced{${job}})`, legend: '{{job}}' }],
    limits: { red: 1 },
    runbooks: ['TopicReplaced'],
  },
  {
    kind: 'lines',
    title: 'Settings of topics',
    description:
      'Settings other than planned by which records may be lost or refused. `tidemark topics plan` names them.',
    unit: 'short',
    queries: [{ expr: `max by (job) (tidemark_topics_differ{${job}})`, legend: '{{job}}' }],
    limits: { amber: 1 },
    runbooks: ['TopicsDiffer'],
  },
  {
    kind: 'lines',
    title: 'File descriptors',
    description: 'Share of the files and sockets that may be open.',
    unit: 'percentunit',
    queries: [{ expr: `${byInstance('process_open_fds')} / ${byInstance('process_max_fds')}`, legend: '{{instance}}' }],
    limits: { amber: 0.5, red: 0.8 },
  },
  {
    kind: 'lines',
    title: 'Versions',
    description: 'Instances of each version: more than one line during a rolling restart only.',
    unit: 'none',
    queries: [{ expr: `sum by (version) (tidemark_build_info{${job}})`, legend: '{{version}}' }],
  },
];

/** What the processes use. */
export const resources: Dashboard = {
  uid: 'tidemark-resources',
  title: 'Tidemark: resources',
  description: 'The processes: what they use, and which version runs. Who holds which accounts is in Tidemark: fleet.',
  rows: [{ title: 'Resources', panels: processes }],
};
