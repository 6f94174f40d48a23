import type { Dashboard } from './dashboard.ts';
import type { Panel } from './panel.ts';
import { ageOfOldest, increaseBy, job, meanBy, orNone, quantileBy, rateBy } from './queries.ts';

const ingest: readonly Panel[] = [
  {
    kind: 'stacked',
    title: 'Observations by result',
    description: 'Everything offered to ingest, by what became of it. conflict and dead_lettered want a look.',
    unit: 'ops',
    queries: [{ expr: rateBy('result', 'tidemark_observations_total'), legend: '{{result}}' }],
    colours: { '^applied$': 'green', '^duplicate$': 'blue', '^stale$': 'purple', '^conflict$|^dead_lettered$': 'red' },
    runbooks: ['DeadLetters'],
  },
  {
    kind: 'stacked',
    title: 'Changes by cause',
    description: 'Where applied changes were learnt: the stream, complete reads, replies to commands, probes.',
    unit: 'ops',
    queries: [
      {
        expr: rateBy('stream, cause', 'tidemark_observations_total', ',result="applied"'),
        legend: '{{stream}} {{cause}}',
      },
    ],
    runbooks: ['EventsStale'],
  },
  {
    kind: 'lines',
    title: 'Queue',
    description:
      'Share of the queue before the database that is taken, and of the time for which sockets are paused. At 100 % of the queue they are.',
    unit: 'percentunit',
    queries: [
      {
        expr: `max by (job, instance) (tidemark_ingest_queue_depth{${job}} / tidemark_ingest_queue_capacity{${job}})`,
        legend: '{{instance}}',
      },
      {
        expr: `max by (job, instance) (rate(tidemark_source_paused_seconds_total{${job}}[$__rate_interval]))`,
        legend: '{{instance}}, sockets paused',
      },
    ],
    limits: { amber: 0.5, red: 0.8 },
    runbooks: ['QueueSaturated'],
  },
  {
    kind: 'lines',
    title: 'Oldest that is not stored',
    description:
      'How long the oldest observation has waited that is not resolved. Milliseconds as a rule; where it grows with the clock, nothing commits.',
    unit: 's',
    queries: [
      {
        // 0 where nothing waits, so that the panel is not empty then.
        expr: `time() - max by (job, instance) (tidemark_ingest_oldest_pending_timestamp_seconds{${job}} > 0) or max by (job, instance) (tidemark_ingest_oldest_pending_timestamp_seconds{${job}}) * 0`,
        legend: '{{instance}}',
      },
    ],
    limits: { amber: 10, red: 60 },
    runbooks: ['IngestStuck'],
  },
  {
    kind: 'lines',
    title: 'Batch transaction',
    description: 'Time of one batch transaction.',
    unit: 's',
    queries: [0.5, 0.99].map((quantile) => ({
      expr: quantileBy(quantile, '', 'tidemark_batch_commit_seconds'),
      legend: `p${quantile * 100}`,
    })),
  },
  {
    kind: 'lines',
    title: 'Batch size',
    description: 'Observations in a committed batch; batches grow by themselves with the load, up to 500.',
    unit: 'short',
    queries: [0.5, 0.99].map((quantile) => ({
      expr: quantileBy(quantile, '', 'tidemark_batch_size'),
      legend: `p${quantile * 100}`,
    })),
  },
  {
    kind: 'lines',
    title: 'Dead letters',
    description:
      'Dead letters that wait for a person, as the database has them; dropped: the oldest of too many; job: rows that jobs have read again.',
    unit: 'none',
    queries: [
      {
        expr: orNone(
          `sum by (stream, reason) (max by (job, stream, reason) (tidemark_dead_letters{${job}}))`,
          'reason',
        ),
        legend: '{{stream}} {{reason}}',
      },
      { expr: increaseBy('job', 'tidemark_dead_letters_dropped_total'), legend: 'dropped' },
      { expr: increaseBy('result', 'tidemark_dead_letter_job_rows_total'), legend: 'job: retry {{result}}' },
    ],
    limits: { amber: 1 },
    runbooks: ['DeadLetters'],
  },
  {
    kind: 'stacked',
    title: 'Orders by status',
    description: 'Orders known, as the database has them.',
    unit: 'short',
    queries: [
      {
        expr: `sum by (stream, status) (max by (job, stream, status) (tidemark_orders{${job}}))`,
        legend: '{{stream}} {{status}}',
      },
    ],
  },
  {
    kind: 'lines',
    title: 'New dead letters',
    description: 'Frames and rows that could not be understood or stored, by how they came; not understood: by reason.',
    unit: 'none',
    queries: [
      {
        // The first of each reason shows here alone: its own series
        // begins at 1, and has no increase.
        expr: increaseBy('stream, cause', 'tidemark_observations_total', ',result="dead_lettered"'),
        legend: '{{stream}} {{cause}}',
      },
      {
        expr: orNone(increaseBy('source, reason', 'tidemark_source_decode_failures_total'), 'reason'),
        legend: 'not understood: {{source}} {{reason}}',
      },
    ],
    runbooks: ['DeadLetters'],
  },
];

const relay: readonly Panel[] = [
  {
    kind: 'lines',
    title: 'Not acknowledged yet',
    description: 'Rows committed and not acknowledged by Kafka.',
    unit: 'short',
    queries: [{ expr: `sum by (topic) (tidemark_log_pending{${job}})`, legend: '{{topic}}' }],
    runbooks: ['RelayStuck'],
  },
  {
    kind: 'lines',
    title: 'Age of the oldest of them',
    description: '0 when nothing waits.',
    unit: 's',
    queries: [{ expr: ageOfOldest('topic', 'tidemark_log_oldest_pending_timestamp_seconds'), legend: '{{topic}}' }],
    limits: { amber: 5, red: 30 },
    runbooks: ['RelayStuck'],
  },
  {
    kind: 'lines',
    title: 'Since the canary came back',
    description: 'Since a watermark last made its whole way through the log and back from Kafka.',
    unit: 's',
    queries: [
      { expr: `time() - max by (job) (tidemark_canary_last_roundtrip_timestamp_seconds{${job}})`, legend: '{{job}}' },
    ],
    limits: { amber: 30, red: 60 },
    runbooks: ['CanaryStale'],
  },
  {
    kind: 'lines',
    title: 'Records',
    description: 'Records handed to Kafka, by topic and result. failed ones are sent again.',
    unit: 'ops',
    queries: [{ expr: rateBy('topic, result', 'tidemark_publish_records_total'), legend: '{{topic}} {{result}}' }],
  },
  {
    kind: 'lines',
    title: 'Time of a send, p99',
    description: 'From the call to every acknowledgement.',
    unit: 's',
    queries: [{ expr: quantileBy(0.99, 'topic', 'tidemark_publish_seconds'), legend: '{{topic}}' }],
    runbooks: ['FreshnessBurn'],
  },
  {
    kind: 'lines',
    title: 'Producers retired, log read again',
    description: 'Each retired producer sends the relay back to the log: repeats, no holes.',
    unit: 'none',
    queries: [
      {
        expr: increaseBy('reason', 'tidemark_publish_resent_total'),
        legend: 'read again: {{reason}}',
      },
      { expr: increaseBy('job', 'tidemark_producer_replaced_total'), legend: 'retired' },
    ],
    runbooks: ['ProducerReplaced'],
  },
];

const resync: readonly Panel[] = [
  {
    kind: 'lines',
    title: 'Time to live',
    description: 'From an acknowledged subscription to live: mean over the time shown.',
    unit: 's',
    queries: [
      {
        expr: meanBy('source', 'tidemark_source_resync_seconds'),
        legend: '{{source}}',
      },
    ],
  },
  {
    kind: 'lines',
    title: 'Since the last complete read',
    description:
      'Of the live account that was read whole longest ago. An audit a minute keeps it near 70 s. 0: no account is live.',
    unit: 's',
    queries: [
      { expr: ageOfOldest('source', 'tidemark_source_last_complete_read_timestamp_seconds'), legend: '{{source}}' },
    ],
    limits: { amber: 150, red: 300 },
    runbooks: ['ResyncNotRunning'],
  },
  {
    kind: 'lines',
    title: 'Gaps and silent losses',
    description: 'Times that continuity was lost, and changes that audits found and the stream had not delivered.',
    unit: 'none',
    queries: [
      { expr: increaseBy('source', 'tidemark_source_gaps_total'), legend: '{{source}} gaps' },
      {
        expr: increaseBy('source', 'tidemark_source_silent_losses_total'),
        legend: '{{source}} silent losses',
      },
    ],
    runbooks: ['SilentLosses', 'Flapping'],
  },
  {
    kind: 'lines',
    title: 'Not followed, missing, in doubt, absent',
    description:
      'Accounts that ought to be followed and are not, what the stream brought and could not be taken, orders that wait to be read from REST (fills may have been taken back), and orders that the platform does not know.',
    unit: 'none',
    queries: [
      { expr: `sum by (source) (tidemark_source_unfollowed{${job}})`, legend: '{{source}} not followed' },
      { expr: `sum by (source) (tidemark_source_unrecovered{${job}})`, legend: '{{source}} not recovered' },
      { expr: `sum by (source) (tidemark_source_orders_in_doubt{${job}})`, legend: '{{source}} in doubt' },
      {
        expr: `sum by (source, cause) (tidemark_source_absent_orders{${job}})`,
        legend: '{{source}} absent, {{cause}}',
      },
    ],
    runbooks: ['AccountsUnfollowed', 'FramesUnrecovered', 'OrdersAbsent'],
  },
  {
    kind: 'lines',
    title: 'Memory for notes of orders',
    description:
      'What all accounts keep of orders: notes of audits, orders in doubt, absent orders, frames that wait for a lost store. At TIDEMARK_NOTES_MAX_BYTES audits count as incomplete and are made again.',
    unit: 'bytes',
    queries: [{ expr: `sum(tidemark_source_note_bytes{${job}})`, legend: 'bytes' }],
  },
];

/** One update's way, step by step: where it is held up. */
export const dataPath: Dashboard = {
  uid: 'tidemark-data-path',
  title: 'Tidemark: data path',
  description: 'From the queue before the database to Kafka, and the reads that check the streams.',
  rows: [
    { title: 'Ingest', panels: ingest },
    { title: 'Relay and Kafka', panels: relay },
    { title: 'Resync and audit', panels: resync },
  ],
};
