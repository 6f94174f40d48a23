import type { CommittedBatch } from '../domain/committed-batch.ts';
import type { Log } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { Backoff } from '../runtime/backoff.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Lease } from '../runtime/lease.ts';
import type { LaneControl } from './lane-control.ts';
import type { OrderStore } from './order-store.ts';

export interface IngestDeps {
  readonly store: OrderStore;
  readonly lane: LaneControl;
  readonly lease: Lease;
  /** Takes every committed batch, in order. */
  readonly onCommitted: (batch: CommittedBatch) => void;
  /** Something committed that could not be handed over: it has to be read from the log. */
  readonly onUnhanded: () => void;
  readonly clock: Clock;
  readonly backoff: Backoff;
  readonly metrics: Metrics['ingest'];
  readonly log: Log;
}

export interface IngestOptions {
  readonly lane: number;
  /** Where the hold on the lane names none. */
  readonly generation: number;
  readonly queueMaxCount: number;
  readonly queueMaxBytes: number;
  readonly batchMaxCount: number;
  /** Heads kept in memory. A head takes 1 to 2 kB. */
  readonly headCacheCount: number;
}
