import { describe, expect, it } from 'vitest';
import { Verifier } from '../../docs/consumers/verify.ts';
import type { LogRow } from '../../src/domain/committed-batch.ts';
import { damagedUpdates } from '../support/orders/damaged-updates.ts';
import { atOf, provenBatches } from '../support/orders/proven-batches.ts';

function verify(updates: readonly LogRow[], marks: readonly LogRow[]) {
  const verifier = new Verifier();
  for (const { payload } of updates) verifier.update(payload);
  return { holes: marks.flatMap(({ payload }) => verifier.mark(payload)), complete: verifier.complete() };
}

const split = (rows: readonly LogRow[]) => [
  rows.filter(({ topic }) => topic === 'updates'),
  rows.filter(({ topic }) => topic === 'watermarks'),
];
const rowsOf = (...of: Parameters<typeof provenBatches>) => provenBatches(...of).flatMap(({ rows }) => rows);

describe('the verifier of a consumer', () => {
  it('finds each of 10,000 losses, edits and inventions, by the batch, and no repeat', () => {
    const { updates, marks, holes } = damagedUpdates(10_000);
    expect(holes.length).toBeGreaterThan(8_500);
    const found = verify(updates, marks);
    expect(found.holes).toEqual(holes);
    expect(found.complete).toEqual([`lane 0: complete from ${atOf(10_002)} to ${atOf(10_003)}: 2 updates`]);
  });

  it('says from when to when everything is here, whatever the order of partitions and repeats of marks', () => {
    const [updates = [], marks = []] = split(rowsOf(10));
    const complete = [`lane 0: complete from ${atOf(1)} to ${atOf(10)}: 18 updates`];
    expect(verify(updates, marks)).toEqual({ holes: [], complete });
    expect(verify(updates.toReversed(), [...marks, ...marks.slice(-3)])).toEqual({ holes: [], complete });
  });

  it('names a proof that is missing, and goes on behind it', () => {
    const [updates = [], marks = []] = split(rowsOf(10));
    expect(verify(updates, marks.toSpliced(4, 2))).toEqual({
      holes: [`lane 0: HOLE from ${atOf(4)} to ${atOf(7)}: no proof of batches 4 to 5`],
      complete: [`lane 0: complete from ${atOf(7)} to ${atOf(10)}: 6 updates`],
    });
  });

  it('keeps lanes apart, and says that the end of a generation has no proof', () => {
    const [updates = [], marks = []] = split([
      ...rowsOf(5),
      ...rowsOf(4, { lane: 1 }),
      ...rowsOf(6, { generation: 2, first: 4 }),
    ]);
    expect(verify(updates, marks)).toEqual({
      holes: [
        `lane 0: HOLE from ${atOf(5)} to ${atOf(4)}: generation 2 begins, and no proof says how generation 1 ended`,
      ],
      complete: [
        `lane 0: complete from ${atOf(4)} to ${atOf(9)}: 10 updates`,
        `lane 1: complete from ${atOf(1)} to ${atOf(4)}: 6 updates`,
      ],
    });
  });

  it('forgets what it has proven, also where it is repeated', () => {
    const [updates = [], marks = []] = split(rowsOf(10));
    const verifier = new Verifier();
    for (const [index, mark] of marks.entries()) {
      for (const { payload } of updates.slice(2 * index, 2 * index + 2)) verifier.update(payload);
      expect(verifier.mark(mark.payload)).toEqual([]);
      for (const { payload } of updates.slice(0, 2 * index)) verifier.update(payload);
    }
    const { open } = verifier as unknown as { open: Map<string, Map<bigint, unknown>> };
    expect([...(open.get('0 1') ?? [])].map(([batch]) => batch)).toEqual([10n]);
  });
});
