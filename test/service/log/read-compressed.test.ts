import kafkajs from 'kafkajs';
import { expect, it } from 'vitest';
import { readCompressed } from '../../../src/service/log/kafkajs/read-compressed.ts';

const { Snappy, LZ4, ZSTD } = kafkajs.CompressionTypes;

async function unpack(type: typeof Snappy | typeof LZ4 | typeof ZSTD, bytes: readonly number[]): Promise<Buffer> {
  readCompressed();
  return kafkajs.CompressionCodecs[type]().decompress(Buffer.from(bytes));
}

const lz4Head = [0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82];

/** A frame with one block. `size`: what it says of itself. */
function lz4(block: readonly number[], size = block.length): number[] {
  return [...lz4Head, size & 255, (size >> 8) & 255, size >> 16, 0, ...block, 0, 0, 0, 0];
}

it('reads Snappy without the framing of Java, with a copy over its own end', async () => {
  expect((await unpack(Snappy, [9, 0x08, 97, 98, 99, 0x09, 3])).toString()).toBe('abcabcabc');
});

it('reads a block of LZ4, and one that was left as it was', async () => {
  expect((await unpack(LZ4, lz4([0x32, 97, 98, 99, 3, 0]))).toString()).toBe('abcabcabc');
  expect((await unpack(LZ4, [...lz4Head, 2, 0, 0, 0x80, 104, 105, 0, 0, 0, 0])).toString()).toBe('hi');
});

it.each<[string, typeof Snappy | typeof LZ4 | typeof ZSTD, readonly number[]]>([
  ['a copy of Snappy from before the beginning', Snappy, [9, 0x08, 97, 98, 99, 0x09, 4]],
  ['a copy of Snappy from nowhere', Snappy, [9, 0x08, 97, 98, 99, 0x09, 0]],
  ['a literal of Snappy that was cut', Snappy, [9, 0x08, 97]],
  ['Snappy without a byte', Snappy, []],
  ['another frame for LZ4', LZ4, [1, 2, 3, 4, 5, 6, 7]],
  ['a block of LZ4 that was cut', LZ4, lz4([0x30, 97], 200)],
  ['a copy of LZ4 from before the beginning', LZ4, lz4([0x32, 97, 98, 99, 4, 0])],
  ['a frame of LZ4 without its end', LZ4, lz4Head],
  ['no frame of zstd', ZSTD, [1, 2, 3]],
])('refuses %s', async (_, type, bytes) => {
  await expect(unpack(type, bytes)).rejects.toThrow();
});

it('refuses a batch that would fill the memory', async () => {
  // One literal, and a copy with 255 bytes more for each further byte.
  await expect(unpack(LZ4, lz4([0x1f, 97, 1, 0, ...Array<number>(300_000).fill(255), 0]))).rejects.toThrow(/more than/);
});
