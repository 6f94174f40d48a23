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
  let characters = 0;
  let longest = 0;
  for (const value of values) {
    if (value === null) continue;
    characters += value.length;
    if (value.length > longest) longest = value.length;
  }
  // To count a text's bytes takes longer than to write it (360 and 130 ns for 1.3 kB), so each is
  // taken to be ASCII. The first that is not has room for three bytes a character, and is found.
  const least = headerBytes + 4 * values.length + characters;
  const buffer = allocate(least + 2 * longest);
  const end = writeTexts(buffer, values, type, true);
  if (end !== undefined) return buffer.subarray(0, end);
  let bytes = 0;
  for (const value of values) if (value !== null) bytes += Buffer.byteLength(value);
  const exact = allocate(least - characters + bytes);
  writeTexts(exact, values, type, false);
  return exact;
}

/** The end of what was written; undefined where a text is not ASCII, and only that was to be. */
function writeTexts(
  buffer: Buffer,
  values: readonly (string | null)[],
  type: 'text' | 'json',
  onlyAscii: boolean,
): number | undefined {
  let at = writeHeader(buffer, values, oids[type]);
  for (const value of values) {
    if (value === null) {
      at = buffer.writeInt32BE(-1, at);
    } else {
      const bytes = buffer.write(value, at + 4);
      if (onlyAscii && bytes !== value.length) return undefined;
      at = buffer.writeInt32BE(bytes, at) + bytes;
    }
  }
  return at;
}

/**
 * Throws a RangeError for a number that does not fit into 64 bits, a SyntaxError for a text that is
 * not a whole number.
 */
export function bigintArray(
  values: readonly (bigint | number | string | null)[],
  allocate: Allocate = Buffer.allocUnsafe,
): Buffer {
  let size = headerBytes;
  for (const value of values) size += value === null ? 4 : 12;
  const buffer = allocate(size);
  let at = writeHeader(buffer, values, oids.bigint);
  for (const value of values) {
    if (value === null) {
      at = buffer.writeInt32BE(-1, at);
    } else {
      at = writeBigint(buffer, value, buffer.writeInt32BE(8, at));
    }
  }
  return buffer;
}

/** A number in its two halves: 20 ns, and 195 as a bigint. */
function writeBigint(buffer: Buffer, value: bigint | number | string, at: number): number {
  if (!Number.isSafeInteger(value)) return buffer.writeBigInt64BE(BigInt(value), at);
  const number = value as number;
  return buffer.writeUInt32BE(number >>> 0, buffer.writeInt32BE(Math.floor(number / 0x1_0000_0000), at));
}

/** The header: dimensions, whether there are nulls, element type, length, lower bound. */
function writeHeader(buffer: Buffer, values: readonly unknown[], oid: number): number {
  buffer.writeInt32BE(1, 0);
  buffer.writeInt32BE(values.includes(null) ? 1 : 0, 4);
  buffer.writeInt32BE(oid, 8);
  buffer.writeInt32BE(values.length, 12);
  return buffer.writeInt32BE(1, 16);
}
