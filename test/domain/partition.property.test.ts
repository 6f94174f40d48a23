import fc from 'fast-check';
import { Partitioners } from 'kafkajs';
import { describe, expect, it } from 'vitest';
import { javaPartition } from '../../src/domain/partition.ts';

describe('the partition of a key', () => {
  it('is the one that kafkajs and the Java client choose, whatever the key', () => {
    const reference = Partitioners.DefaultPartitioner();
    const metadata = (count: number) =>
      Array.from({ length: count }, (_, partitionId) => ({
        partitionErrorCode: 0,
        partitionId,
        leader: 1,
        replicas: [1],
        isr: [1],
      }));
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 60 }), fc.integer({ min: 1, max: 24 }), (key, partitions) => {
        const expected = reference({
          topic: 't',
          partitionMetadata: metadata(partitions),
          message: { key, value: '' },
        });
        expect(javaPartition(key, partitions)).toBe(expected);
      }),
      { numRuns: 2000 },
    );
  });

  // From the Java client's own tests (UtilsTest.testMurmur2), as partitions of 2^31 - 1.
  it.each([
    ['21', -973932308],
    ['foobar', -790332482],
    ['a-little-bit-long-string', -985981536],
    ['a-little-bit-longer-string', -1486304829],
    ['lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8', -58897971],
    ['abc', 479470107],
  ])('hashes %s as the Java client does', (key, hash) => {
    expect(javaPartition(key, 2 ** 31)).toBe(hash & 0x7fffffff);
  });
});
