import type { PublishRow } from '../relay/publisher.ts';

export interface SendLimits {
  readonly maxRows: number;
  readonly maxBytes: number;
}

/**
 * kafkajs groups messages by partition in quadratic time (at 1,000 that is 0.1 ms, at 10,000 it is the whole send), and a broker takes 1 MiB a partition by
 * default: 900 kB in all fits with any keys.
 */
export const sendLimits: SendLimits = { maxRows: 1000, maxBytes: 900_000 };

/** About the size that a record adds to its key and value in a batch. */
const recordOverheadBytes = 20;

/** Pieces of at most `maxRows` and `maxBytes`, in order. A row that is too large by itself is a piece of its own: the broker refuses it. */
export function splitSends<Row extends PublishRow>(rows: readonly Row[], limits: SendLimits = sendLimits): (readonly Row[])[] {
  const pieces: Row[][] = [];
  let piece: Row[] = [];
  let bytes = 0;
  for (const row of rows) {
    const size = Buffer.byteLength(row.payload) + Buffer.byteLength(row.key) + recordOverheadBytes;
    if (piece.length > 0 && (piece.length >= limits.maxRows || bytes + size > limits.maxBytes)) {
      pieces.push(piece);
      piece = [];
      bytes = 0;
    }
    piece.push(row);
    bytes += size;
  }
  if (piece.length > 0) pieces.push(piece);
  return pieces;
}
