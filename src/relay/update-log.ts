import type { LogRow } from '../domain/committed-batch.ts';

export interface StoredLogRow extends LogRow {
  readonly seq: bigint;
  /** The number of the batch that wrote it. */
  readonly batch: bigint;
}

export type RelayCursor = 'log' | 'state';

/** The log of committed updates, read back in recovery, and the relay's own positions in it. Every call has a deadline; rejects when the database can't be reached. */
export interface UpdateLog {
  /** The lane's committed rows with seq above `afterSeq`, lowest first, at most `limit`. Never one whose predecessor may still commit. */
  readAfter(lane: number, afterSeq: bigint, limit: number): Promise<StoredLogRow[]>;
  /** The newest row of each order above `afterSeq`, at most `limit` log rows looked at (fewer where they are large); `lastSeq` is the last seq looked at. */
  readNewestAfter(
    lane: number,
    afterSeq: bigint,
    limit: number,
  ): Promise<{ readonly rows: readonly StoredLogRow[]; readonly lastSeq: bigint }>;
  /** The last row that is known to be acknowledged; 0n at first. */
  loadPosition(lane: number, cursor: RelayCursor): Promise<bigint>;
  /** Never moves a position back. False: the epoch is no longer ours, nothing was saved. */
  savePosition(lane: number, epoch: bigint, cursor: RelayCursor, seq: bigint): Promise<boolean>;
  /** The highest committed seq, the number of rows above `afterSeq`, and the oldest one's time in ms since the epoch. For metrics: may be an estimate above 1,000. */
  pendingAfter(lane: number, afterSeq: bigint): Promise<{ readonly rows: number; readonly oldestMs: number | undefined }>;
}
