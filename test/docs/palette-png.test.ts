import { crc32, deflateSync, inflateSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { palettePng } from './palette-png.ts';

function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const ends = Buffer.alloc(8);
  ends.writeUInt32BE(data.length, 0);
  ends.writeUInt32BE(crc32(named), 4);
  return Buffer.concat([ends.subarray(0, 4), named, ends.subarray(4)]);
}

/** RGB, two pixels wide, one row for each filter. */
function pictureOf(rows: readonly (readonly number[])[]): Buffer {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(2, 0);
  head.writeUInt32BE(rows.length, 4);
  head.set([8, 2, 0, 0, 0], 8);
  const lines = Buffer.from(rows.flat());
  const signature = Buffer.from('89504e470d0a1a0a', 'hex');
  return Buffer.concat([
    signature,
    chunk('IHDR', head),
    chunk('IDAT', deflateSync(lines)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function colourRows(png: Buffer): number[][] {
  const parts = new Map<string, Buffer>();
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at))
    parts.set(png.toString('latin1', at + 4, at + 8), png.subarray(at + 8, at + 8 + png.readUInt32BE(at)));
  const palette = parts.get('PLTE') ?? Buffer.alloc(0);
  const lines = inflateSync(parts.get('IDAT') ?? Buffer.alloc(0));
  const rows: number[][] = [];
  for (let at = 0; at < lines.length; at += 3)
    rows.push([...lines.subarray(at + 1, at + 3)].flatMap((index) => [...palette.subarray(index * 3, index * 3 + 3)]));
  return rows;
}

it('a picture with few colours keeps each of them, whichever filter its rows have', () => {
  const picture = pictureOf([
    [0, 10, 20, 30, 40, 50, 60],
    [1, 10, 20, 30, 5, 5, 5],
    [2, 1, 1, 1, 2, 2, 2],
    [3, 100, 100, 100, 0, 0, 0],
    [4, 1, 2, 3, 4, 5, 6],
  ]);
  expect(colourRows(palettePng(picture))).toEqual([
    [10, 20, 30, 40, 50, 60],
    [10, 20, 30, 15, 25, 35],
    [11, 21, 31, 17, 27, 37],
    [105, 110, 115, 61, 68, 76],
    [106, 112, 118, 65, 73, 82],
  ]);
});

it('a picture that is not as Chromium writes them is refused', () => {
  const picture = pictureOf([[0, 1, 2, 3, 4, 5, 6]]);
  picture[28] = 1;
  expect(() => palettePng(picture)).toThrow('not a PNG');
});
