import fc from 'fast-check';
import { expect, it } from 'vitest';
import { systemRandom, timeOrderedUuid } from '../../src/runtime/random.ts';
import { seededRandom } from '../../src/sandbox/seeded-random.ts';

const uuidV4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const draw = (seed: number) => {
  const random = seededRandom(seed);
  return Array.from({ length: 20 }, () => [random.next(), random.uuid()]);
};

it('gives the same trace for the same seed, and another one for another seed', () => {
  fc.assert(
    fc.property(fc.integer(), (seed) => {
      expect(draw(seed)).toEqual(draw(seed));
      expect(draw(seed)).not.toEqual(draw(seed + 1));
    }),
  );
});

it('draws numbers in [0, 1) and version 4 UUIDs', () => {
  for (const [number, uuid] of draw(42)) {
    expect(number).toBeGreaterThanOrEqual(0);
    expect(number).toBeLessThan(1);
    expect(uuid).toMatch(uuidV4);
  }
  expect(systemRandom.uuid()).toMatch(uuidV4);
});

it('orders UUIDs of version 7 by their time, and gives no two of one time', () => {
  const time = fc.integer({ min: 0, max: 2 ** 48 - 1 });
  fc.assert(
    fc.property(fc.integer(), time, time, (seed, one, other) => {
      const random = seededRandom(seed);
      const [first, second] = [timeOrderedUuid(random, one), timeOrderedUuid(random, other)];
      for (const uuid of [first, second])
        expect(uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      expect(Number.parseInt(first.slice(0, 13).replace('-', ''), 16)).toBe(one);
      expect(first).not.toBe(second);
      if (one !== other) expect(first < second).toBe(one < other);
    }),
  );
});
