import type { CommittedBatch } from '../../domain/committed-batch.ts';
import type { ClockAndLogger } from '../../observability/ambient.ts';
import type { Metrics } from '../../observability/metrics.ts';
import type { Backoff } from '../../runtime/backoff.ts';
import type { Lease } from '../../runtime/lease.ts';
import type { LaneHold } from '../../store/fleet/lane-store.ts';
import type { OrderStore } from '../../store/orders/order-store.ts';

export type LossReason = 'batch_refused' | 'reclaim_refused' | 'forgotten';

/** The part of the lane keeper that ingest needs. */
export interface LaneControl {
  /**
   * Raises our own epoch and returns the newest committed batch. Undefined: the lane is no longer
   * ours. Rejects when the database can't be reached.
   */
  reclaim(): Promise<LaneHold | undefined>;
  /**
   * The term can't go on: a batch was refused because the epoch is no longer ours, a reclaim found
   * the lane lost, or the database lacks commits.
   */
  reportLost(why: LossReason): void;
}

export interface IngestDeps extends ClockAndLogger {
  readonly store: OrderStore;
  readonly lane: LaneControl;
  readonly lease: Lease;
  /** Takes every committed batch, in order. */
  readonly onCommitted: (batch: CommittedBatch) => void;
  /** A batch committed but could not be handed over: it has to be read from the log. */
  readonly onCommitUnseen: () => void;
  readonly backoff: Backoff;
  readonly metrics: Metrics['ingest'];
}

export interface IngestOptions {
  readonly queueMaxCount: number;
  readonly queueMaxBytes: number;
  readonly batchMaxCount: number;
  /** Heads kept in memory. A head takes 1 to 2 kB. */
  readonly headCacheCount: number;
}
