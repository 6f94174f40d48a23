import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sendLimits, splitSends } from '../../../src/service/log/publish-sends.ts';

const row = (payload: string) => ({ topic: 'updates', key: 'k', payload }) as const;

describe('the pieces of a send', () => {
  it('hold every row once, in order, within both bounds unless a row alone passes them', () => {
    const limits = { maxRows: 7, maxBytes: 300 };
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'grapheme', maxLength: 120 }), { maxLength: 60 }), (payloads) => {
        const pieces = splitSends(payloads.map(row), limits);
        expect(pieces.flat().map(({ payload }) => payload)).toEqual(payloads);
        for (const piece of pieces) {
          expect(piece.length).toBeLessThanOrEqual(limits.maxRows);
          const bytes = piece.reduce((sum, { payload }) => sum + Buffer.byteLength(payload) + 21, 0);
          if (piece.length > 1) expect(bytes).toBeLessThanOrEqual(limits.maxBytes);
        }
      }),
    );
  });

  it('are at most 1,000 rows and 900 kB, counted in bytes and not in characters', () => {
    expect(sendLimits).toEqual({ maxRows: 1000, maxBytes: 900_000 });
    expect(splitSends(Array.from({ length: 2001 }, () => row('x'))).map(({ length }) => length)).toEqual([
      1000, 1000, 1,
    ]);
    expect(splitSends([row('é'.repeat(300_000)), row('é'.repeat(300_000))])).toHaveLength(2);
  });

  it('are none for no rows', () => {
    expect(splitSends([])).toEqual([]);
  });
});
