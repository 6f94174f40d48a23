import type { CommittedBatch } from '../../domain/committed-batch.ts';

/** Why the relay goes back to the log; a metric label. */
export type RereadReason = 'start' | 'failure' | 'overflow' | 'gap';

/** Whole consecutive batches, taken from memory to be published together. */
export interface HandoffRows {
  readonly batches: readonly CommittedBatch[];
  readonly rows: number;
}

/**
 * Two sources of rows meet here: batches handed over in memory, and the log read back. Pure: no
 * I/O, no time.
 *
 * States:
 * - `reading`: the log is the only source. Batches handed over during a read are kept, since that
 *   read may not show them.
 * - `following`: memory is the only source. Everything up to batch `anchor` has been taken, and the
 *   held batches follow it number by number.
 *
 * Invariant: `following` misses no batch. `reading` turns to `following` only on a *complete* read
 * (fewer rows than asked for): it shows every batch handed over before it began. All batches handed
 * over since are held without a gap, or the log is read again. So no row is skipped, and one key's
 * rows are taken in the order of seq. If the log has shown only the first rows of a batch, the
 * whole batch is taken again: a repeat, and readers drop it by revision.
 */
export class Handoff {
  private state: 'reading' | 'following' = 'reading';
  private held: CommittedBatch[] = [];
  private heldBytes = 0;
  /**
   * The number of the newest batch known to be committed: handed over, or named when the term or a
   * read began.
   */
  private newest: bigint;
  /** In `following`: the last batch taken. While a read is under way: `newest` when it began. */
  private anchor: bigint;
  /** A read is under way, and the batches handed over since it began have no gap so far. */
  private bridging = false;
  /** Everything up to this seq was taken from the log. */
  private shownUpTo = 0n;
  private readonly limits: { readonly maxHeldBatches: number; readonly maxHeldBytes: number };
  private readonly onReread: (reason: RereadReason) => void;

  /** `lastBatch`: the lane's last committed batch when the term began. */
  constructor(limits: Handoff['limits'], lastBatch: bigint, onReread: (reason: RereadReason) => void) {
    this.limits = limits;
    this.newest = lastBatch;
    this.anchor = lastBatch;
    this.onReread = onReread;
    onReread('start');
  }

  get reading(): boolean {
    return this.state === 'reading';
  }

  /** The newest batch known to be committed here. */
  get newestBatch(): bigint {
    return this.newest;
  }

  get heldRows(): number {
    return this.held.reduce((sum, { rows }) => sum + rows.length, 0);
  }

  /** Monotonic time of the oldest held commit. */
  get oldestHeldMs(): number | undefined {
    return this.held[0]?.committedMs;
  }

  addCommitted(batch: CommittedBatch): void {
    if (batch.number > this.newest) this.newest = batch.number;
    const expected = this.lastHeld() + 1n;
    if (batch.number < expected) return;
    if (this.state === 'reading') {
      if (!this.bridging) return;
      if (batch.number !== expected || !this.fits(batch)) this.bridging = this.dropHeld();
      else this.hold(batch);
      return;
    }
    if (batch.number !== expected) this.reread('gap');
    else if (this.held.length === 0 && this.shown(batch)) this.anchor = batch.number;
    else if (!this.fits(batch)) this.reread('overflow');
    else this.hold(batch);
  }

  /**
   * Called before each read of the log. It shows everything up to `committed`, also a batch never
   * handed over.
   */
  beginRead(committed = 0n): void {
    this.dropHeld();
    if (committed > this.newest) this.newest = committed;
    this.anchor = this.newest;
    this.bridging = true;
  }

  /**
   * Called once every row of the read is acknowledged. `upTo`: all rows up to this seq are;
   * `complete`: the read found fewer rows than it asked for.
   */
  endRead(upTo: bigint, complete: boolean): void {
    if (!complete || !this.bridging) return;
    this.state = 'following';
    this.bridging = false;
    this.shownUpTo = upTo;
    for (;;) {
      const first = this.held[0];
      if (first === undefined || !this.shown(first)) return;
      this.release(1);
      this.anchor = first.number;
    }
  }

  /**
   * Whole batches up to the limits, at least one; undefined when nothing is held, or while reading.
   * They count as taken at once.
   */
  takeRows(maxRows: number, maxBytes: number): HandoffRows | undefined {
    if (this.state === 'reading' || this.held.length === 0) return undefined;
    let count = 0;
    let rows = 0;
    let bytes = 0;
    for (const batch of this.held) {
      if (count > 0 && (rows + batch.rows.length > maxRows || bytes + batch.bytes > maxBytes)) break;
      count += 1;
      rows += batch.rows.length;
      bytes += batch.bytes;
    }
    const batches = this.release(count);
    this.anchor = batches.at(-1)?.number ?? this.anchor;
    return { batches, rows };
  }

  /** Drops the held batches and goes back to the log. */
  reread(reason: RereadReason): void {
    this.dropHeld();
    this.bridging = false;
    this.state = 'reading';
    this.onReread(reason);
  }

  /** The log has shown the whole batch. */
  private shown(batch: CommittedBatch): boolean {
    return batch.lastSeq === undefined || batch.lastSeq <= this.shownUpTo;
  }

  private lastHeld(): bigint {
    return this.held.at(-1)?.number ?? this.anchor;
  }

  private fits(batch: CommittedBatch): boolean {
    return this.held.length < this.limits.maxHeldBatches && this.heldBytes + batch.bytes <= this.limits.maxHeldBytes;
  }

  private hold(batch: CommittedBatch): void {
    this.held.push(batch);
    this.heldBytes += batch.bytes;
  }

  private release(count: number): CommittedBatch[] {
    const released = this.held.splice(0, count);
    for (const { bytes } of released) this.heldBytes -= bytes;
    return released;
  }

  private dropHeld(): false {
    this.held = [];
    this.heldBytes = 0;
    return false;
  }
}
