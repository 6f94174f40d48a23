import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeOrder, type RowOrigin } from '../../../src/service/sources/decode-order.ts';
import { accountRow, predictionRow } from '../../../src/venue/platform/fixtures/rows.ts';
import { platformVenue } from '../../../src/venue/platform/platform-venue.ts';
import { accountOrderItem } from '../../../src/venue/platform/wire/account-order.ts';
import { predictionOrder } from '../../../src/venue/platform/wire/prediction-order.ts';

const origin = (stream: 'account' | 'prediction'): RowOrigin => ({
  venue: platformVenue,
  stream,
  cause: 'snapshot',
  accountId: 'acct-1',
  sourceEpoch: 0,
  observedAtMs: 0,
  receivedMs: 0,
  bytes: 1,
});

/**
 * A row of which one or two fields are missing or hold something else: with more, hardly any row
 * would still have the right shape. Fields are left out rather than made null: the two read the
 * same here.
 */
function damaged(row: Readonly<Record<string, unknown>>) {
  const damage = fc.oneof(
    { weight: 3, arbitrary: fc.constant('drop' as const) },
    fc.record({ value: fc.oneof(fc.integer(), fc.boolean(), fc.constant({}), fc.constant([])) }),
  );
  const some = fc.subarray(Object.keys(row), { minLength: 1, maxLength: 2 });
  return fc.tuple(some, damage, damage).map(([fields, ...choices]) =>
    Object.fromEntries(
      Object.entries(row).flatMap(([field, value]) => {
        const choice = choices[fields.indexOf(field)];
        if (choice === 'drop') return [];
        return [[field, choice === undefined ? value : choice.value]];
      }),
    ),
  );
}

describe('the decoders and the zod shapes', () => {
  it.each([
    [
      'prediction' as const,
      { ...predictionRow, avgPx: '0.4', version: '7', clOrdId: 'c', expireTime: '2026-12-01T00:00:00Z' },
      predictionOrder,
    ],
    // An event has neither accountId nor createdAt, so the decoder does not ask for them.
    [
      'account' as const,
      { ...accountRow, avgPrice: '3', stopPrice: '4' },
      accountOrderItem.partial({ accountId: true, createdAt: true }),
    ],
  ])('agree: every %s row of the right shape is read', (stream, row, shape) => {
    let ofShape = 0;
    fc.assert(
      fc.property(damaged(row), (candidate) => {
        // What the decoder reads besides, and what it leaves unread, is in
        // test/venue/platform/wire-results.md.
        if (!shape.safeParse(candidate).success) return;
        ofShape += 1;
        expect(decodeOrder(candidate, origin(stream), () => '').kind).toBe('order');
      }),
      { numRuns: 3_000 },
    );
    expect(ofShape).toBeGreaterThan(200);
  });

  it('never throw, whatever comes', () => {
    fc.assert(
      fc.property(
        fc.anything({ withNullPrototype: true, maxDepth: 4 }),
        fc.constantFrom('account' as const, 'prediction' as const),
        (row, stream) => {
          decodeOrder(row, origin(stream), () => 'raw');
        },
      ),
      { numRuns: 2_000 },
    );
  });
});
