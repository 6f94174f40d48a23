import { describe, expect, it } from 'vitest';
import { Scratch } from '../../src/store/orders/apply-batch.ts';

describe('a scratch', () => {
  it('gives out memory that nobody else has, until it is reset', () => {
    const scratch = new Scratch();
    for (let round = 0; round < 3; round += 1) {
      scratch.reset();
      const parts = Array.from({ length: 200 }, (_, i) => scratch.allocate(1 + ((i * 7919) % 5_000)).fill(i % 251));
      for (const [i, part] of parts.entries()) expect(part.every((byte) => byte === i % 251)).toBe(true);
    }
  });

  it('uses the same memory again', () => {
    const scratch = new Scratch();
    for (let i = 0; i < 2; i += 1) {
      scratch.reset();
      for (let k = 0; k < 50; k += 1) scratch.allocate(1_000);
    }
    scratch.reset();
    const before = scratch.allocate(100);
    scratch.reset();
    const after = scratch.allocate(100);
    expect([after.buffer, after.byteOffset]).toEqual([before.buffer, before.byteOffset]);
  });

  it('lets go of what one huge batch needed', () => {
    const scratch = new Scratch();
    const huge = scratch.allocate(20_000_000);
    scratch.reset();
    expect(scratch.allocate(10).buffer).not.toBe(huge.buffer);
  });
});
