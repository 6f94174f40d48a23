import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { addSums, hashOfValue, noneUnproven, proofOf } from '../../../src/service/orders/prepare-batch.ts';
import { provenBatches } from '../../support/orders/proven-batches.ts';

describe('a proof', () => {
  it('is made of the first 48 bits of the SHA-256 of each value in UTF-8, added without carry', () => {
    const wanted = (text: string) => createHash('sha256').update(text, 'utf8').digest().readUIntBE(0, 6);
    expect(hashOfValue('{"a":"é"}')).toBe(wanted('{"a":"é"}'));
    // As published: SHA-256 of "abc" begins with ba7816bf8f01.
    expect(hashOfValue('abc')).toBe(0xba7816bf8f01);
    expect(addSums(2 ** 48 - 1, 2)).toBe(1);
    expect(proofOf({ after: 3n, count: 2, sum: 255 }, { lane: 0, generation: 1, upTo: 5n })).toEqual({
      lane: 0,
      generation: 1,
      after: 3n,
      upTo: 5n,
      count: 2,
      hash: '0000000000ff',
    });
    expect(noneUnproven(7n)).toEqual({ after: 7n, count: 0, sum: 0 });
  });

  it('is of all batches before its own, which name themselves in their updates', () => {
    const payloads = provenBatches(3).map(({ rows }) => rows.map(({ payload }) => JSON.parse(payload)));
    expect(payloads.map(([, , mark]) => mark.proof)).toMatchObject([
      { after: '0', upTo: '0', count: 0, hash: '000000000000' },
      { after: '0', upTo: '1', count: 2 },
      { after: '1', upTo: '2', count: 2 },
    ]);
    expect(payloads.map(([a, b]) => [a.lane, a.batch, b.batch])).toEqual(
      [1, 2, 3].map((n) => [0, String(n), String(n)]),
    );
  });
});
