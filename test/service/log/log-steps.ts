import fc from 'fast-check';

/**
 * Batches as ingest may commit them, of few orders, so that these change again
 * and again; some have a mark of an account.
 */
export function arbitraryCommit(bounds: {
  readonly orders: number;
  readonly maxRows: number;
  readonly maxLateMs: number;
}) {
  const keys = Array.from({ length: bounds.orders }, (_, i) => `prediction:${'abcdefgh'.charAt(i)}`);
  const row = fc.oneof(
    { weight: 8, arbitrary: fc.record({ topic: fc.constant('updates' as const), key: fc.constantFrom(...keys) }) },
    { weight: 1, arbitrary: fc.record({ topic: fc.constant('watermarks' as const), key: fc.constant('acc') }) },
  );
  return fc.record({
    do: fc.constant('commit' as const),
    rows: fc.array(row, { maxLength: bounds.maxRows }),
    // Handed over so much later (behind the ones before it), never, or
    // never but with a word that it was missed.
    hand: fc.oneof(
      { weight: 8, arbitrary: fc.nat(bounds.maxLateMs) },
      { weight: 1, arbitrary: fc.constantFrom('lost' as const, 'missed' as const) },
    ),
  });
}

/** The database is away, or back; and how long its answers take from now on. */
export function arbitraryDatabase(...answerMs: number[]) {
  return fc.record({
    do: fc.constant('database' as const),
    down: fc.boolean(),
    answerMs: fc.constantFrom(...answerMs),
  });
}
