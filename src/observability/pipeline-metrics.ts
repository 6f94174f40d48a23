import { streams } from '../domain/order.ts';
import { asSeen, type MetricMaker } from './metric-maker.ts';

const fineSeconds = [
  0.0005, 0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.06, 0.1, 0.25, 0.5, 1.5, 5.5,
];

const causes = ['stream', 'snapshot', 'reply', 'probe'] as const;
const results = ['applied', 'duplicate', 'stale', 'conflict', 'dead_lettered'] as const;
/** `Takeover` in store/ has their meanings. */
export const laneTakeoverCauses = ['first', 'released', 'expired', 'own'] as const;
const topics = ['updates', 'watermarks', 'state', 'results'] as const;
const recordTopics = ['updates', 'state', 'results'] as const;
/** A producer is replaced after these codes of `PublishError` (service/log/publish-sends.ts). */
const replaceReasons = [
  'timeout',
  'connection',
  'not_leader',
  'missing_ack',
  'not_enough_replicas',
  'too_large',
  'unknown_topic',
  'wrong_partitions',
  'unauthorized',
  'storage',
  'fenced',
  'unavailable',
  'broker',
  'other',
] as const;

export function ingestMetrics({ counter, gauge, histogram, batchHistogram }: MetricMaker) {
  return {
    observations: counter(
      'tidemark_observations_total',
      'Everything offered to ingest, by what became of it; the results add up to what came in',
      { stream: streams, cause: causes, result: results },
    ),
    queueDepth: gauge(
      'tidemark_ingest_queue_depth',
      'Observations that are pending: queued, in a batch, or waiting for another try',
    ),
    oldestUncommitted: gauge(
      'tidemark_ingest_oldest_pending_timestamp_seconds',
      'When the oldest pending observation came; 0 when there is none',
    ),
    queueCapacity: gauge('tidemark_ingest_queue_capacity', 'Observations at which the sockets are paused'),
    batchSize: histogram(
      'tidemark_batch_size',
      'Observations in a committed batch',
      [1.5, 2.5, 5.5, 10.5, 25.5, 50.5, 100.5, 200.5, 350.5, 500.5],
    ),
    applySeconds: histogram('tidemark_batch_commit_seconds', 'Time of one batch transaction', fineSeconds),
    orders: gauge('tidemark_orders', 'Orders known, by status', { stream: asSeen, status: asSeen }),
    deadLetters: gauge('tidemark_dead_letters', 'Dead letters that have not been dealt with', {
      stream: asSeen,
      reason: asSeen,
    }),
    deadLetterDropped: counter(
      'tidemark_dead_letters_dropped_total',
      'Dead letters above the bound that were dropped before they had been dealt with',
    ),
    deadLetterJobRows: counter(
      'tidemark_dead_letter_job_rows_total',
      'Rows of retries of dead letters as jobs that this process carried out, by result (done, failed)',
      { result: ['done', 'failed'] },
    ),
    latency: batchHistogram(
      'tidemark_latency_seconds',
      'Time of an update on its way: receive_to_commit, commit_to_ack, total',
      fineSeconds,
      { stream: streams, stage: ['receive_to_commit', 'commit_to_ack', 'total'] },
    ),
    shardsHeld: gauge('tidemark_shards_held', 'Shards of accounts that this process follows'),
    shardsUnassigned: gauge('tidemark_shards_unassigned', 'Shards that no live process held when this one last looked'),
    shardMoves: counter(
      'tidemark_shard_moves_total',
      'Shards that this process took, gave, kept because they could not be given in time, or lost to another process',
      { move: ['taken', 'given', 'kept', 'lost'] },
    ),
    laneFinishes: counter(
      'tidemark_lane_finishes_total',
      'Lanes without a live process that this one has seen to the end (finished), or failed to and tries again (failed)',
      { result: ['finished', 'failed'] },
    ),
    unhealthy: gauge(
      'tidemark_unhealthy',
      '1 while this process gives its shards to others because of a trouble of its own',
    ),
    laneHeld: gauge('tidemark_lane_held', '1 while this process holds a lane'),
    laneEpoch: gauge('tidemark_lane_epoch', 'The fencing number of the lane as last seen here'),
    laneTakeovers: counter(
      'tidemark_lane_takeovers_total',
      'Times that this process took the lane, by cause: first, released, expired, own',
      { cause: laneTakeoverCauses },
    ),
    laneTakeoverSeconds: histogram(
      'tidemark_lane_takeover_seconds',
      'How long the lane had been released, or its holder silent, when this process took it, by the clock of the database',
      [0.1, 0.25, 0.5, 1.5, 2.5, 5.5, 6.5, 7.5, 8.5, 10.5, 15.5, 30.5, 60.5, 300.5],
      { cause: ['released', 'expired'] },
    ),
    commitsLost: counter(
      'tidemark_database_commits_lost_total',
      'Times that this process found that the database lacks commits it had acknowledged; each began a generation and halted placing',
    ),
    fenced: counter(
      'tidemark_fenced_total',
      'Writes refused because another process had taken the lane: by postgres, by kafka',
      { by: ['postgres', 'kafka'] },
    ),
  };
}

export function relayMetrics({ counter, gauge, histogram }: MetricMaker) {
  return {
    pending: gauge('tidemark_log_pending', 'Committed updates not yet acknowledged by Kafka', { topic: recordTopics }),
    oldestPending: gauge(
      'tidemark_log_oldest_pending_timestamp_seconds',
      'When the oldest update not yet acknowledged was committed; 0 when there is none',
      { topic: recordTopics },
    ),
    records: counter('tidemark_publish_records_total', 'Records handed to Kafka, by result: acknowledged, failed', {
      topic: topics,
      result: ['acknowledged', 'failed'],
    }),
    publishSeconds: histogram(
      'tidemark_publish_seconds',
      'Time of one send, from call to every acknowledgement',
      [0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.06, 0.1, 0.25, 0.5, 1.5, 5.5],
      { topic: topics },
    ),
    producerReplaced: counter(
      'tidemark_producer_replaced_total',
      'Producers that had been handed records and were retired after an error or a deadline',
      { reason: replaceReasons },
    ),
    resent: counter(
      'tidemark_publish_resent_total',
      'Times that the relay went back to the log, by reason: start, failure, overflow, gap',
      { reason: ['start', 'failure', 'overflow', 'gap'] },
    ),
    canary: gauge(
      'tidemark_canary_last_roundtrip_timestamp_seconds',
      'When a watermark last made its whole way through the log and back from Kafka',
    ),
  };
}
