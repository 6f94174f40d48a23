import { promisify } from 'node:util';
import { zstdDecompress } from 'node:zlib';
import kafkajs from 'kafkajs';

/** A batch has at most 1 MiB on the wire: our records unpacked are far below this. */
const maxBytes = 64 * 1024 * 1024;

/**
 * Lets kafkajs read Snappy, LZ4 and zstd; of itself it knows gzip only. We write uncompressed, and
 * a topic's `compression.type` lets the broker compress our records anew: then nothing of the topic
 * could be read back. Safe to call again.
 */
export function readCompressed(): void {
  const { CompressionCodecs, CompressionTypes } = kafkajs;
  CompressionCodecs[CompressionTypes.Snappy] = () => codec(decodeSnappy);
  CompressionCodecs[CompressionTypes.LZ4] = () => codec(decodeLz4);
  CompressionCodecs[CompressionTypes.ZSTD] = () => codec((bytes) => unpackZstd(bytes, { maxOutputLength: maxBytes }));
}

const unpackZstd = promisify(zstdDecompress);

function codec(decompress: (bytes: Buffer) => Buffer | Promise<Buffer>) {
  return {
    compress: async () => {
      throw new Error('records are written uncompressed');
    },
    decompress: async (bytes: Buffer) => decompress(bytes),
  };
}

/** The unpacked bytes so far; later parts refer back to them. */
class Unpacked {
  private bytes: Buffer;
  private length = 0;

  constructor(expected: number) {
    this.bytes = Buffer.alloc(Math.min(maxBytes, Math.max(1024, expected)));
  }

  add(part: Buffer): void {
    this.makeRoom(part.length);
    part.copy(this.bytes, this.length);
    this.length += part.length;
  }

  /** `count` bytes from `back` bytes ago. They may overlap the new ones. */
  repeat(back: number, count: number): void {
    if (back === 0 || back > this.length) throw new Error('a compressed batch refers to what is not in it');
    this.makeRoom(count);
    const { bytes, length } = this;
    if (back >= count) bytes.copyWithin(length, length - back, length - back + count);
    else for (let at = length; at < length + count; at += 1) bytes[at] = bytes[at - back] ?? 0;
    this.length += count;
  }

  get whole(): Buffer {
    return this.bytes.subarray(0, this.length);
  }

  private makeRoom(count: number): void {
    const needed = this.length + count;
    if (needed > maxBytes) throw new Error(`a compressed batch holds more than ${maxBytes} bytes`);
    if (needed <= this.bytes.length) return;
    const larger = Buffer.alloc(Math.min(maxBytes, Math.max(needed, this.bytes.length * 2)));
    this.bytes.copy(larger, 0, 0, this.length);
    this.bytes = larger;
  }
}

/** Throws if the batch was cut. */
function piece(bytes: Buffer, from: number, count: number): Buffer {
  if (from + count > bytes.length) throw new Error('a compressed batch ends too early');
  return bytes.subarray(from, from + count);
}

/** Java's framing of Snappy: this, two versions, and blocks with their length before them. */
const javaSnappy = Buffer.from('\x82SNAPPY\0', 'latin1');

function decodeSnappy(bytes: Buffer): Buffer {
  const to = new Unpacked(bytes.length * 4);
  if (!bytes.subarray(0, javaSnappy.length).equals(javaSnappy)) decodeSnappyBlock(bytes, to);
  else
    for (let at = javaSnappy.length + 8; at < bytes.length; ) {
      const size = bytes.readUInt32BE(at);
      decodeSnappyBlock(piece(bytes, at + 4, size), to);
      at += 4 + size;
    }
  return to.whole;
}

function decodeSnappyBlock(bytes: Buffer, to: Unpacked): void {
  // The length of the whole comes first, as a varint.
  let at = 0;
  while (bytes.readUInt8(at) >= 0x80) at += 1;
  at += 1;
  while (at < bytes.length) {
    const tag = bytes.readUInt8(at);
    const high = tag >> 2;
    const kind = tag & 3;
    at += 1;
    if (kind === 0) {
      const extra = Math.max(0, high - 59);
      const count = (extra === 0 ? high : bytes.readUIntLE(at, extra)) + 1;
      to.add(piece(bytes, at + extra, count));
      at += extra + count;
    } else if (kind === 1) {
      to.repeat(((tag >> 5) << 8) | bytes.readUInt8(at), (high & 7) + 4);
      at += 1;
    } else {
      const width = kind === 2 ? 2 : 4;
      to.repeat(bytes.readUIntLE(at, width), high + 1);
      at += width;
    }
  }
}

const lz4Magic = 0x184d2204;

function decodeLz4(bytes: Buffer): Buffer {
  if (bytes.readUInt32LE(0) !== lz4Magic) throw new Error('a batch is marked as LZ4 and is no frame of it');
  const flags = bytes.readUInt8(4);
  const to = new Unpacked(bytes.length * 4);
  const checksum = (flags & 0x10) === 0 ? 0 : 4;
  // Optional: the size of the whole (8 bytes), the number of a dictionary (4). Then a checksum (1).
  for (let at = 7 + ((flags & 0x08) === 0 ? 0 : 8) + ((flags & 0x01) === 0 ? 0 : 4); ; ) {
    const told = bytes.readUInt32LE(at);
    if (told === 0) return to.whole;
    const size = told & 0x7fffffff;
    const block = piece(bytes, at + 4, size);
    if (told >= 0x80000000) to.add(block);
    else decodeLz4Block(block, to);
    at += 4 + size + checksum;
  }
}

function decodeLz4Block(bytes: Buffer, to: Unpacked): void {
  let at = 0;
  /** A length of 15 goes on in further bytes, until one is below 255. */
  const lengthFrom = (first: number): number => {
    let length = first;
    for (let more = first === 15 ? 255 : 0; more === 255; length += more) {
      more = bytes.readUInt8(at);
      at += 1;
    }
    return length;
  };
  while (at < bytes.length) {
    const token = bytes.readUInt8(at);
    at += 1;
    const literals = lengthFrom(token >> 4);
    to.add(piece(bytes, at, literals));
    at += literals;
    // The last sequence has literals alone.
    if (at >= bytes.length) return;
    const back = bytes.readUInt16LE(at);
    at += 2;
    to.repeat(back, lengthFrom(token & 15) + 4);
  }
}
