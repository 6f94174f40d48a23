import type { CommittedBatch, LogRow } from '../../domain/committed-batch.ts';

export interface NewestLimits {
  readonly maxOrders: number;
  /** Payload characters. */
  readonly maxBytes: number;
}

/**
 * Each order's newest row since the last flush, and the seq up to which these rows are complete.
 */
interface Harvest {
  readonly rows: readonly LogRow[];
  readonly upTo: bigint;
}

interface Kept {
  readonly row: LogRow;
  /** The last seq in the row's batch: the row's own seq is not known in memory. */
  readonly batchSeq: bigint;
}

/**
 * Each order's newest update since the last flush, from the hand-off in memory, or the fact that
 * memory does not know it. Pure: no I/O, no time.
 *
 * States: `whole` (every batch since the last harvest or completed read is in the map) · `broken`
 * (at start, after a gap, an overflow or a failure: only the log knows) · `broken` with a read
 * under way: batches are kept meanwhile, so that the map can be whole again when it ends.
 *
 * Invariant: a harvest never holds an older row than an earlier read or harvest gave for the same
 * order: the compacted topic would keep the older one. For this reason, a batch's rows are dropped
 * once a read has shown it completely.
 */
export class NewestByOrder {
  private kept = new Map<string, Kept>();
  private bytes = 0;
  private broken = true;
  private bridging = false;
  private newestBatch: bigint;
  /** The last seq of all batches up to `newestBatch`; undefined: not known. */
  private newestSeq: bigint | undefined;
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
    // A batch without rows after a gap does not show the last seq in the gap.
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
    this.bridging = true;
  }

  /**
   * Called after everything up to `upTo` was flushed, and the log had no more at the last read.
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
