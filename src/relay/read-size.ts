import type { LogRow } from '../domain/committed-batch.ts';

export interface ReadSizeLimits {
  readonly maxRows: number;
  /** Payload characters. */
  readonly maxBytes: number;
}

/**
 * How many rows the next read of the log asks for. A row has 1 kB as a rule, and may have 300 kB: a thousand of those neither fit into our memory nor come
 * within the deadline of a query, and a read that fails must not be tried again as it was.
 *
 * Invariant: 1 <= `rows` <= `maxRows`. It follows the size of the rows of the last read, halves with each failure, and at most doubles with each success.
 */
export class ReadSize {
  private next: number;
  private readonly limits: ReadSizeLimits;

  constructor(limits: ReadSizeLimits) {
    this.limits = limits;
    this.next = limits.maxRows;
  }

  get rows(): number {
    return this.next;
  }

  read(rows: readonly LogRow[]): void {
    const bytes = rows.reduce((sum, row) => sum + row.payload.length, 0);
    const fitting = Math.floor((this.limits.maxBytes * rows.length) / Math.max(1, bytes));
    this.next = Math.max(1, Math.min(this.limits.maxRows, 2 * this.next, bytes === 0 ? this.limits.maxRows : fitting));
  }

  failed(): void {
    this.next = Math.max(1, this.next >> 1);
  }
}
