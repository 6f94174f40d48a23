import type { Witnessed } from '../runtime/commit-witness.ts';

/** A hold on the lane: the fencing number, and the number of the last committed batch. */
export interface LaneHold {
  readonly epoch: bigint;
  readonly batch: bigint;
  /** Stands above the revision in every payload of the term; rises when the database was restored, with the epoch. Left out: the one of the options. */
  readonly generation?: number;
}

/** `first`: nobody ever held it. `released`: it was given back. `expired`: its holder had not renewed it for too long. `own`: the answer to our own taking was lost. */
export const takeoverCauses = ['first', 'released', 'expired', 'own'] as const;

/** How the lane changed hands. */
export interface Takeover {
  readonly cause: (typeof takeoverCauses)[number];
  /** Who held it before; undefined where it was free. */
  readonly from: string | undefined;
  /** How long nobody had renewed it, or how long ago it was given back, by the database's clock. */
  readonly idleMs: number;
}

export type AcquireResult = { readonly foundLoss?: FoundLoss } & (
  | ({ readonly kind: 'held'; readonly takeover: Takeover } & LaneHold)
  /** Another holder, whose hold this is, renewed it `ageMs` ago, by the database's clock. */
  | ({ readonly kind: 'busy'; readonly holder: string; readonly ageMs: number } & LaneHold)
);

/** The database lacks commits that were acknowledged. This call found it: it has raised the generation and halted placing, before the lane was taken. */
export interface FoundLoss {
  readonly generation: number;
}

/**
 * The lane's row: lease, fence, order of batches, and the answer to a lost commit. Times are the database's. Calls reject only when the database
 * can't be reached or answers late; the caller then knows nothing and tries again.
 */
export interface LaneStore {
  /**
   * Takes the lane when nobody renewed it for `expireAfterMs` (or it was released, or never held), raising the epoch. Also when `holder` itself held it last,
   * so that an answer that was lost costs no lease: `holder` must therefore name one run of one process. Where the database lacks what was `witnessed`, a
   * generation begins first.
   */
  acquire(lane: number, holder: string, expireAfterMs: number, witnessed?: Witnessed): Promise<AcquireResult>;
  /** `refused`: the epoch is no longer ours. `forgotten`: it is, and the database lacks what was `witnessed`. */
  renew(lane: number, epoch: bigint, witnessed?: Witnessed): Promise<'renewed' | 'refused' | 'forgotten'>;
  /**
   * Raises the epoch of a lane that we hold, then reads the batch number. Raising waits for an orphaned backend that may still commit and fences what is
   * buffered, so that this number is a verdict on every batch sent before. Undefined: the epoch is no longer ours.
   */
  reclaim(lane: number, epoch: bigint): Promise<LaneHold | undefined>;
  /** Gives the lane back, so that a standby need not wait for the lease to expire. */
  release(lane: number, epoch: bigint): Promise<void>;
}
