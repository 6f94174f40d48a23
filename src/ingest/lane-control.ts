import type { LaneHold } from './lane-store.ts';

/** What ingest asks of the keeper of the lane. */
export interface LaneControl {
  /** Raises our own epoch and says which batches committed; undefined: the lane is no longer ours. Rejects when the database can't be reached. */
  reclaim(): Promise<LaneHold | undefined>;
  /** A batch was refused because the epoch is not ours any more. */
  reportLost(): void;
}
