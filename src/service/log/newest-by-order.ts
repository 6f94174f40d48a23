import type { CommittedBatch, LogRow } from '../../domain/committed-batch.ts';

export interface NewestLimits {
  readonly maxOrders: number;
  /** Payload characters. */
  readonly maxBytes: number;
}

/**
 * The newest row of each order since the last flush, and the
 * seq up to which these rows are complete.
 */
interface Harvest {
  readonly rows: readonly LogRow[];
  readonly upTo: bigint;
}

interface Kept {
  readonly row: LogRow;
  /** The last seq of the row's batch: the row's own seq is not known in memory. */
  readonly batchSeq: bigint;
}

/**
 * The newest update of each order since the last flush, from the hand-off in memory, or the fact
 * that memory does not know it. Pure: no I/O, no time.
 *
 * States: `whole` (every batch since the last harvest or completed read is in the map) · `broken`
 * (at start, after a gap, an overflow or a failure: only the log knows) · `broken` with a read
 * under way, during which batches are kept so that the map can be whole again when it ends.
 *
 * Invariant: a harvest never holds a row that is older than the row which an earlier read or
 * harvest gave for the same order: the compacted topic would keep the older one. For this reason,
 * rows of batches that a read has shown completely are dropped.
 */
export class NewestByOrder {
  private kept = new Map<string, Kept>();
  private bytes = 0;
  private broken = true;
  private bridging = false;
  private newestBatch: bigint;
  /** The last seq of all batches up to `newestBatch`; undefined: not known. */
  private newestSeq: bigint | undefined;
  private seqAtRead: bigint | undefined;
  /** Everything up to here came from the log. */
  private shownUpTo = 0n;
  private readonly limits: NewestLimits;

  constructor(limits: NewestLimits, lastBatch: bigint) {
    this.limits = limits;
    this.newestBatch = lastBatch;
  }

  get whole(): boolean {
    return !this.broken;
  }

  addCommitted(batch: CommittedBatch): void {
    if (batch.number <= this.newestBatch) return;
    const follows = batch.number === this.newestBatch + 1n;
    this.newestBatch = batch.number;
    // A batch without rows after a gap does not show where the rows in the gap end.
    if (batch.lastSeq !== undefined || !follows) this.newestSeq = batch.lastSeq;
    if (this.broken && !this.bridging) return;
    if (!follows || !this.keep(batch)) this.fail();
  }

  /** Only the log knows from here on. */
  fail(): void {
    this.broken = true;
    this.bridging = false;
    this.clear();
  }

  /** Called before each read of the log. */
  beginRead(): void {
    this.clear();
    this.seqAtRead = this.newestSeq;
    this.bridging = true;
  }

  /**
   * Whether a read that ended at `upTo` shows all batches that were handed over before it began.
   */
  covered(upTo: bigint): boolean {
    return this.seqAtRead !== undefined && upTo >= this.seqAtRead;
  }

  /**
   * Called after everything up to `upTo` was flushed and the last read has caught up with memory.
   */
  endRead(upTo: bigint): void {
    if (!this.bridging) return;
    this.broken = false;
    this.bridging = false;
    this.shownUpTo = upTo;
    for (const [key, { row, batchSeq }] of this.kept) {
      if (batchSeq > upTo) continue;
      this.kept.delete(key);
      this.bytes -= row.payload.length;
    }
  }

  /** Takes all rows; undefined when there is nothing new. Only while `whole`. */
  harvest(): Harvest | undefined {
    if (this.broken || this.newestSeq === undefined) return undefined;
    const rows = Array.from(this.kept.values(), ({ row }) => row);
    this.clear();
    return { rows, upTo: this.newestSeq };
  }

  private keep(batch: CommittedBatch): boolean {
    if (batch.lastSeq === undefined || batch.lastSeq <= this.shownUpTo) return true;
    for (const row of batch.rows) {
      if (row.topic !== 'updates') continue;
      this.bytes += row.payload.length - (this.kept.get(row.key)?.row.payload.length ?? 0);
      this.kept.set(row.key, { row, batchSeq: batch.lastSeq });
    }
    return this.kept.size <= this.limits.maxOrders && this.bytes <= this.limits.maxBytes;
  }

  private clear(): void {
    this.kept = new Map();
    this.bytes = 0;
  }
}
