import { ofHolder } from './alert.ts';

export interface RecordingRule {
  readonly record: string;
  readonly expr: string;
}

/**
 * Objective: 99 % of the updates are acknowledged by Kafka within 0.25 s of their arrival. Measured
 * p99 at 5,000 a second: 0.1 s (docs/performance.md).
 */
export const errorBudget = 0.01;

const late = (window: string): RecordingRule => ({
  record: `job:tidemark_updates_late:ratio_rate${window}`,
  // Just after a start rate() reaches further back for the bucket than for the count: without the
  // bound the share was -6 %.
  expr: `clamp_min(1 - sum by (job) (rate(tidemark_latency_seconds_bucket{stage="total",le="0.25"}[${window}]))
  / sum by (job) (rate(tidemark_latency_seconds_count{stage="total"}[${window}])), 0)`,
});

const pendingAge =
  '(time() - tidemark_log_oldest_pending_timestamp_seconds) * (tidemark_log_oldest_pending_timestamp_seconds > bool 0)';
const ingestAge =
  '(time() - tidemark_ingest_oldest_pending_timestamp_seconds) * (tidemark_ingest_oldest_pending_timestamp_seconds > bool 0)';
const silence =
  '(time() - tidemark_source_last_frame_timestamp_seconds) * (tidemark_source_last_frame_timestamp_seconds > bool 0)';

/**
 * How many of the things hold that make the data of a lane doubtful; 0 is the verdict "can be
 * trusted". Recorded rather than asked by the dashboard, so that a Prometheus without our rules
 * shows nothing there instead of green. The terms: no process holds a lane, a shard of accounts has
 * no process for 20 s, an account is followed by none, what came waits for the database for 60 s,
 * an account that should be live is not, none is live, no heartbeat came back for 60 s, a row waits
 * for Kafka for 30 s, a stream is silent for 30 s.
 */
const doubts: RecordingRule = {
  record: 'job:tidemark_doubts:sum',
  expr: `(sum by (job) (tidemark_lane_held) == bool 0)
+ ((min by (job) (min_over_time(tidemark_shards_unassigned[20s]) and on (job, instance) (tidemark_lane_held == 1)) or 0 * sum by (job) (tidemark_lane_held)) > bool 0)
+ ((sum by (job) (tidemark_source_unfollowed) or 0 * sum by (job) (tidemark_lane_held)) > bool 0)
+ (max by (job) (${ofHolderOrNone(ingestAge)}) > bool 60)
+ (sum by (job) (tidemark_source_state{state!~"live|not_enrolled"}) > bool 0)
+ (sum by (job) (tidemark_source_state{state="live"}) == bool 0)
+ (time() - max by (job) (tidemark_canary_last_roundtrip_timestamp_seconds) > bool 60)
+ (max by (job) (${ofHolderOrNone(pendingAge)}) > bool 30)
+ (max by (job) (${ofHolderOrNone(silence)}) > bool 30)`,
};

/**
 * As `ofHolder`, but a job without a holder counts as zero
 * rather than vanishing with the whole sum.
 */
function ofHolderOrNone(expr: string): string {
  return `(${ofHolder(`(${expr})`)}) or 0 * tidemark_lane_held`;
}

export const recordingRules: readonly RecordingRule[] = [doubts, ...['5m', '30m', '1h', '6h'].map(late)];
