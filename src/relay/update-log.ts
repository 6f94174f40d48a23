/** One row of the log, as it goes to Kafka. */
export interface LogRow {
  /** Which topic it is for. */
  readonly topic: 'updates' | 'continuity';
  /** `<stream>:<orderId>`; for continuity marks the account id. */
  readonly key: string;
  readonly payload: string;
}

export interface StoredLogRow extends LogRow {
  readonly seq: bigint;
}

/** A batch that just committed, handed over in memory. `rows` is in the order of seq; `lastSeq` is the seq of the last. */
export interface CommittedBatch {
  readonly number: bigint;
  readonly lastSeq: bigint | undefined;
  readonly rows: readonly LogRow[];
  /** Monotonic time of arrival of each row's observation, beside `rows`; NaN where there is none (continuity marks). */
  readonly receivedMs: readonly number[];
  readonly streams: readonly ('account' | 'prediction' | 'continuity')[];
  /** Monotonic time at which the commit was acknowledged. */
  readonly committedMs: number;
  /** Roughly what it occupies: payload characters. */
  readonly bytes: number;
}

export type RelayCursor = 'log' | 'state';

/** The log of committed updates, read back in recovery, and the relay's own positions in it. Every call has a deadline; rejects when the database can't be reached. */
export interface UpdateLog {
  /** The lane's committed rows with seq above `afterSeq`, lowest first, at most `limit`. Never one whose predecessor may still commit. */
  readAfter(lane: number, afterSeq: bigint, limit: number): Promise<StoredLogRow[]>;
  /** The newest row of each order with `afterSeq` < seq <= `untilSeq`, at most `limit` log rows looked at; `lastSeq` is the last seq looked at. */
  readNewestAfter(
    lane: number,
    afterSeq: bigint,
    limit: number,
  ): Promise<{ readonly rows: readonly StoredLogRow[]; readonly lastSeq: bigint }>;
  /** The last row that is known to be acknowledged; 0n at first. */
  loadPosition(lane: number, cursor: RelayCursor): Promise<bigint>;
  /** Never moves a position back. False: the epoch is no longer ours, nothing was saved. */
  savePosition(lane: number, epoch: bigint, cursor: RelayCursor, seq: bigint): Promise<boolean>;
  /** The highest committed seq, the number of rows above `afterSeq`, and the oldest one's time in ms since the epoch. For metrics: may be an estimate above 100,000. */
  pendingAfter(lane: number, afterSeq: bigint): Promise<{ readonly rows: number; readonly oldestMs: number | undefined }>;
}
