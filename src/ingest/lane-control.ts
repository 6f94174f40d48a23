import type { LaneHold } from './lane-store.ts';

export type LossReason = 'batch_refused' | 'reclaim_refused' | 'forgotten';

/** What ingest asks of the keeper of the lane. */
export interface LaneControl {
  /** Raises our own epoch and says which batches committed; undefined: the lane is no longer ours. Rejects when the database can't be reached. */
  reclaim(): Promise<LaneHold | undefined>;
  /** The term can't go on: a batch was refused because the epoch is not ours any more, a reclaim said so, or the database lacks what had committed. */
  reportLost(why: LossReason): void;
}
