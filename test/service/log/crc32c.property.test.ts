import fc from 'fast-check';
import { expect, test } from 'vitest';
import { crc32c } from '../../../src/service/log/kafkajs/encode-produce.ts';

test('the check value of the CRC catalogues, and the vectors of RFC 3720', () => {
  expect(crc32c(Buffer.from('123456789'), 0)).toBe(0xe3069283);
  expect(crc32c(Buffer.alloc(32), 0)).toBe(0x8a9136aa);
  expect(crc32c(Buffer.alloc(32, 0xff), 0)).toBe(0x62a8ab43);
  expect(crc32c(Buffer.from(Array.from({ length: 32 }, (_, i) => i)), 0)).toBe(0x46dd794e);
});

/** Bit by bit, as the polynomial division is defined. */
function slowly(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc & 1) === 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  }
  return (crc ^ 0xffffffff) >>> 0;
}

test('eight bytes a step give what one bit a step gives, from any start and of any length', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), fc.nat(20), (bytes, start) => {
      const from = Math.min(start, bytes.length);
      expect(crc32c(bytes, from)).toBe(slowly(bytes.subarray(from)));
    }),
  );
});
