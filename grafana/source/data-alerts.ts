import { alertAfterS } from '../../src/contract/conditions.ts';
import { type Alert, ofHolder } from './alert.ts';
import { errorBudget } from './recording-rules.ts';

const oldestPending = ofHolder('(tidemark_log_oldest_pending_timestamp_seconds > 0)');
const pendingAge = `max by (job) (time() - (${oldestPending}))`;
const oldestInIngest = ofHolder('(tidemark_ingest_oldest_pending_timestamp_seconds > 0)');
const burn = (factor: number, short: string, long: string) =>
  `(job:tidemark_updates_late:ratio_rate${short} > ${factor} * ${errorBudget} and job:tidemark_updates_late:ratio_rate${long} > ${factor} * ${errorBudget})`;

/** From ingest to Kafka and back. */
export const dataAlerts: readonly Alert[] = [
  {
    name: 'RelayStuck',
    severity: 'page',
    expr: `max by (job, topic) (time() - (${oldestPending})) > ${alertAfterS('rows_unsent')}`,
    summary: 'Committed updates do not reach Kafka',
    description:
      'The oldest row for {{ $labels.topic }} that Kafka has not acknowledged was committed {{ $value | humanizeDuration }} ago. Nothing is lost: the log keeps it.',
  },
  {
    name: 'IngestStuck',
    severity: 'page',
    expr: `max by (job) (time() - (${oldestInIngest})) > ${alertAfterS('rows_not_stored')}`,
    summary: 'What arrives is not stored',
    description:
      'The oldest observation that is not resolved came {{ $value | humanizeDuration }} ago: batches do not commit, or far more arrives than the database takes. Nothing is dropped.',
  },
  {
    // An hour: long enough for a scrape that was missed, and short enough to end by itself. The
    // halt, and its alert, stay until a person ends them.
    name: 'CommitsLost',
    severity: 'page',
    // A process that starts finds it before its first scrape: its counter begins at 1.
    expr: `sum by (job) (increase(tidemark_database_commits_lost_total[1h])) > 0
or sum by (job) (max_over_time(tidemark_database_commits_lost_total[1m]) and on (job, instance) (time() - process_start_time_seconds < 3600)) > 0`,
    summary: 'The database came back without commits',
    description:
      'A failover or a restore took back what the database had acknowledged. A new generation has begun and placing is halted; topics and database differ until they are compared.',
  },
  {
    // Consumers that were behind lack what was on it, and nothing gives it to them by itself.
    name: 'TopicReplaced',
    severity: 'page',
    expr: 'max by (job) (tidemark_topics_replaced) > 0',
    for: '1m',
    summary: 'A topic was deleted and made again',
    description:
      'What was published to it is gone ({{ $value }} topics). `tidemark doctor` names each with its ends, and what writes it again.',
  },
  {
    // A process asks each minute, so that a change by an operator is seen within two.
    name: 'TopicsDiffer',
    severity: 'ticket',
    expr: 'max by (job) (tidemark_topics_differ) > 0',
    for: '2m',
    summary: 'A topic is set otherwise than planned',
    description:
      'Settings of topics ({{ $value }}) by which records may be lost or refused, while everything flows. `tidemark topics plan` names them.',
  },
  {
    // By itself it stops nothing: where Kafka refuses records for it, RelayStuck pages.
    name: 'ClockSkewed',
    severity: 'ticket',
    expr: 'max by (job, instance, of) (abs(tidemark_clock_ahead_seconds)) > 30',
    for: '2m',
    summary: 'The clocks of {{ $labels.instance }} and {{ $labels.of }} disagree',
    description:
      'They are {{ $value | humanizeDuration }} apart; which of them is wrong does not show here. From an hour on Kafka refuses records.',
  },
  {
    // A source that is down sends no heartbeat, and has alerts of its own: this one is about the
    // way behind it. Rows that wait for Kafka are that way: while they do it does not end, though
    // no account is live any more. A process that has just begun gets two minutes, since its first
    // heartbeat follows its first complete read.
    name: 'CanaryStale',
    severity: 'page',
    expr: `time() - max by (job) ((tidemark_canary_last_roundtrip_timestamp_seconds > 0) or on (job, instance) (process_start_time_seconds + 60)) > ${alertAfterS('canary_late')}
and on (job) (sum by (job) (tidemark_source_state{state="live"}) > 0 or ${pendingAge} > ${alertAfterS('rows_unsent')})`,
    summary: 'No heartbeat comes back from Kafka',
    description:
      'Accounts are live, but no watermark was read back for {{ $value | humanizeDuration }}: source, ingest, log, relay or Kafka is broken somewhere.',
  },
  {
    // Two windows each: the long one says that it matters, the short one that it still goes on.
    // 14.4 and 6 spend 2 % and 5 % of a month's budget before they fire. Below a hundred updates an
    // hour one late update would be a fire.
    name: 'FreshnessBurn',
    severity: 'page',
    expr: `(${burn(14.4, '5m', '1h')} or ${burn(6, '30m', '6h')})
and on (job) sum by (job) (increase(tidemark_latency_seconds_count{stage="total"}[1h])) > 100`,
    summary: 'Updates are late',
    description:
      '{{ $value | humanizePercentage }} of the updates took longer than 0.25 s from the socket to the acknowledgement of Kafka; 1 % is allowed.',
  },
  {
    // Not by hours without an event: markets close, and small accounts rest for days. Reads that
    // keep finding changes while the stream brings nothing at all mean one thing at any hour.
    name: 'EventsStale',
    severity: 'ticket',
    expr: `sum by (job, stream) (increase(tidemark_observations_total{cause!="stream",result="applied"}[15m])) > 0
unless on (job, stream) sum by (job, stream) (increase(tidemark_observations_total{cause="stream"}[15m])) > 0`,
    for: '30m',
    summary: 'Changes are found by reading, and none by the stream',
    description:
      'The {{ $labels.stream }} stream delivered no order event, while reads applied {{ $value | humanize }} changes in 15 minutes. Updates arrive, up to a minute late.',
  },
  {
    name: 'DeadLetters',
    severity: 'ticket',
    expr: 'max by (job, stream, reason) (tidemark_dead_letters) > 0',
    for: '5m',
    summary: 'Dead letters wait for a person',
    description:
      'Dead letters of the {{ $labels.stream }} stream that wait for a person ({{ $labels.reason }}): {{ $value }}.',
  },
  {
    // The queue is full by bytes as well, and batches that fail are taken out of it: sockets that
    // are paused are saturation at any depth.
    name: 'QueueSaturated',
    severity: 'ticket',
    expr: `max by (job) (tidemark_ingest_queue_depth / tidemark_ingest_queue_capacity) > 0.8
or max by (job) (rate(tidemark_source_paused_seconds_total[2m])) > 0.5`,
    for: '2m',
    summary: 'Ingest does not keep up',
    description:
      'The queue before the database is more than 80 % full, or its sockets are paused for most of the time ({{ $value | humanizePercentage }}). Nothing is dropped.',
  },
  {
    name: 'ProducerReplaced',
    severity: 'ticket',
    expr: 'sum by (job, reason) (increase(tidemark_producer_replaced_total[30m])) > 2.5',
    summary: 'Kafka producers are given up again and again',
    description:
      'Producers that had sent records and were retired in 30 minutes ({{ $labels.reason }}): {{ $value | humanize }}. What Kafka had not acknowledged is sent again: consumers may see repeats, no holes.',
  },
];
