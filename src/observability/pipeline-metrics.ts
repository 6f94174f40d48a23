import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

const fineSeconds = [
  0.0005, 0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.06, 0.1, 0.25, 0.5, 1.5, 5.5,
];

export function ingestMetrics(registry: Registry) {
  const registers = [registry];
  return {
    observations: new Counter({
      name: 'tidemark_observations_total',
      help: 'Everything offered to ingest, by what became of it; the outcomes add up to what came in',
      labelNames: ['stream', 'cause', 'outcome'] as const,
      registers,
    }),
    queueDepth: new Gauge({
      name: 'tidemark_ingest_queue_depth',
      help: 'Observations that are not settled: queued, in a batch, or waiting for another try',
      registers,
    }),
    oldestUncommitted: new Gauge({
      name: 'tidemark_ingest_oldest_unsettled_timestamp_seconds',
      help: 'When the oldest observation that is not settled came; 0 when there is none',
      registers,
    }),
    queueCapacity: new Gauge({
      name: 'tidemark_ingest_queue_capacity',
      help: 'Observations at which the sockets are paused',
      registers,
    }),
    batchSize: new Histogram({
      name: 'tidemark_batch_size',
      help: 'Observations in a committed batch',
      buckets: [1.5, 2.5, 5.5, 10.5, 25.5, 50.5, 100.5, 200.5, 350.5, 500.5],
      registers,
    }),
    applySeconds: new Histogram({
      name: 'tidemark_apply_seconds',
      help: 'Time of one batch transaction',
      buckets: fineSeconds,
      registers,
    }),
    orders: new Gauge({
      name: 'tidemark_orders',
      help: 'Orders known, by status',
      labelNames: ['stream', 'status'] as const,
      registers,
    }),
    quarantined: new Gauge({
      name: 'tidemark_quarantined',
      help: 'Rows in quarantine that have not been dealt with',
      labelNames: ['stream', 'reason'] as const,
      registers,
    }),
    quarantineDropped: new Counter({
      name: 'tidemark_quarantine_dropped_total',
      help: 'Rows of a full quarantine that were dropped before they had been dealt with',
      registers,
    }),
    quarantineJobRows: new Counter({
      name: 'tidemark_quarantine_job_rows_total',
      help: 'Rows of jobs over the quarantine that this process carried out, by kind (retry, discard) and outcome (done, failed)',
      labelNames: ['kind', 'outcome'] as const,
      registers,
    }),
    latency: new Histogram({
      name: 'tidemark_latency_seconds',
      help: 'Time of an update on its way: receive_to_commit, commit_to_ack, total',
      labelNames: ['stream', 'stage'] as const,
      buckets: fineSeconds,
      registers,
    }),
    shardsHeld: new Gauge({
      name: 'tidemark_shards_held',
      help: 'Shards of accounts that this process follows',
      registers,
    }),
    shardsUnheld: new Gauge({
      name: 'tidemark_shards_unheld',
      help: 'Shards that no live process held when this one last looked',
      registers,
    }),
    shardMoves: new Counter({
      name: 'tidemark_shard_moves_total',
      help: 'Shards that this process took, gave, kept because they could not be given in time, or lost to another process',
      labelNames: ['move'] as const,
      registers,
    }),
    laneFinishes: new Counter({
      name: 'tidemark_lane_finishes_total',
      help: 'Lanes without a live process that this one has seen to the end (finished), or failed to and tries again (failed)',
      labelNames: ['outcome'] as const,
      registers,
    }),
    unfit: new Gauge({
      name: 'tidemark_unfit',
      help: '1 while this process gives its shards to others because of a trouble of its own',
      registers,
    }),
    laneHeld: new Gauge({ name: 'tidemark_lane_held', help: '1 while this process holds a lane', registers }),
    laneEpoch: new Gauge({
      name: 'tidemark_lane_epoch',
      help: 'The fencing number of the lane as last seen here',
      registers,
    }),
    laneTakeovers: new Counter({
      name: 'tidemark_lane_takeovers_total',
      help: 'Times that this process took the lane, by cause: first, released, expired, own',
      labelNames: ['cause'] as const,
      registers,
    }),
    laneTakeoverSeconds: new Histogram({
      name: 'tidemark_lane_takeover_seconds',
      help: 'How long the lane had been released, or its holder silent, when this process took it, by the clock of the database',
      labelNames: ['cause'] as const,
      buckets: [0.1, 0.25, 0.5, 1.5, 2.5, 5.5, 6.5, 7.5, 8.5, 10.5, 15.5, 30.5, 60.5, 300.5],
      registers,
    }),
    commitsLost: new Counter({
      name: 'tidemark_database_commits_lost_total',
      help: 'Times that this process found that the database lacks commits it had acknowledged; each began a generation and halted placing',
      registers,
    }),
    fenced: new Counter({
      name: 'tidemark_fenced_total',
      help: 'Writes refused because another process had taken the lane: by postgres, by kafka',
      labelNames: ['by'] as const,
      registers,
    }),
  };
}

export function relayMetrics(registry: Registry) {
  const registers = [registry];
  return {
    pending: new Gauge({
      name: 'tidemark_log_pending',
      help: 'Committed updates not yet acknowledged by Kafka',
      labelNames: ['topic'] as const,
      registers,
    }),
    oldestPending: new Gauge({
      name: 'tidemark_log_oldest_pending_timestamp_seconds',
      help: 'When the oldest update not yet acknowledged was committed; 0 when there is none',
      labelNames: ['topic'] as const,
      registers,
    }),
    records: new Counter({
      name: 'tidemark_publish_records_total',
      help: 'Records handed to Kafka, by outcome: acknowledged, failed',
      labelNames: ['topic', 'outcome'] as const,
      registers,
    }),
    publishSeconds: new Histogram({
      name: 'tidemark_publish_seconds',
      help: 'Time of one send, from call to every acknowledgement',
      labelNames: ['topic'] as const,
      buckets: [0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.06, 0.1, 0.25, 0.5, 1.5, 5.5],
      registers,
    }),
    producerReplaced: new Counter({
      name: 'tidemark_producer_replaced_total',
      help: 'Producers that had been handed records and were retired after an error or a deadline',
      labelNames: ['reason'] as const,
      registers,
    }),
    resent: new Counter({
      name: 'tidemark_publish_resent_total',
      help: 'Times that the relay went back to the log, by reason: start, failure, overflow, gap',
      labelNames: ['reason'] as const,
      registers,
    }),
    canary: new Gauge({
      name: 'tidemark_canary_last_roundtrip_timestamp_seconds',
      help: 'When a continuity heartbeat last made its whole way through the log and back from Kafka',
      registers,
    }),
  };
}
