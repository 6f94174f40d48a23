import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BoundedQueue } from '../../src/runtime/bounded-queue.ts';

describe('the bounded queue', () => {
  it('gives back everything, once, in order, and knows its count and bytes, whatever the mix of pushes and takes', () => {
    const step = fc.oneof(
      fc.nat({ max: 300 }).map((bytes) => ({ bytes })),
      fc.nat({ max: 1500 }).map((take) => ({ take })),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
        const queue = new BoundedQueue<number>({ maxCount: 50, maxBytes: 4000 }, () => {});
        const model: { item: number; bytes: number }[] = [];
        let next = 0;
        for (const one of steps) {
          if ('bytes' in one) {
            queue.push(next, one.bytes);
            model.push({ item: next, bytes: one.bytes });
            next += 1;
          } else {
            expect(queue.take(one.take)).toEqual(model.splice(0, one.take).map(({ item }) => item));
          }
          expect(queue.count).toBe(model.length);
          expect(queue.bytes).toBe(model.reduce((sum, { bytes }) => sum + bytes, 0));
        }
      }),
    );
  });

  it('is full from the push that reaches the count until half of it is free, and tells so once', () => {
    let told = 0;
    const queue = new BoundedQueue<number>({ maxCount: 4, maxBytes: 1000 }, () => {
      told += 1;
    });
    for (let item = 0; item < 6; item += 1) queue.push(item, 1);
    expect(queue.full).toBe(true);
    expect(queue.count).toBe(6);
    queue.take(3);
    expect([queue.full, told]).toEqual([true, 0]);
    queue.take(1);
    expect([queue.full, told]).toEqual([false, 1]);
    queue.take(2);
    expect(told).toBe(1);
  });

  it('is full by bytes as well', () => {
    let told = 0;
    const queue = new BoundedQueue<string>({ maxCount: 100, maxBytes: 10 }, () => {
      told += 1;
    });
    queue.push('a', 4);
    queue.push('b', 6);
    expect(queue.full).toBe(true);
    queue.take(1);
    expect(queue.full).toBe(true);
    queue.take(1);
    expect([queue.full, told]).toEqual([false, 1]);
  });

  it('becomes full again after it had room', () => {
    let told = 0;
    const queue = new BoundedQueue<number>({ maxCount: 2, maxBytes: 100 }, () => {
      told += 1;
    });
    for (let round = 0; round < 3; round += 1) {
      queue.push(1, 1);
      queue.push(2, 1);
      expect(queue.full).toBe(true);
      queue.take(2);
    }
    expect(told).toBe(3);
  });
});
