// What a user saw: An order whose price was "+187.5", or its time without a colon, was in quarantine.

import { describe, expect, it } from 'vitest';
import { decodeOrder } from '../../../src/service/sources/decode-order.ts';
import { accountRow, predictionRow } from '../../support/platform/platform-rows.ts';

function decoded(stream: 'account' | 'prediction', row: object) {
  const origin = { stream, cause: 'snapshot', accountId: 'acct-1', sourceEpoch: 0 } as const;
  return decodeOrder(row, { ...origin, observedAtMs: 0, receivedMs: 0, bytes: 1 }, () => '');
}
const viewOf = (stream: 'account' | 'prediction', row: object) => {
  const item = decoded(stream, row);
  if (item.kind !== 'order') throw new Error(`${item.kind} ${'detail' in item ? item.detail : ''}`);
  return item.view;
};

describe('an order is read in each spelling that leaves no doubt', () => {
  it.each([
    ['+187.5', '187.5'],
    ['1.875e2', '187.5'],
    ['1875E-1', '187.5'],
    ['0187.50', '187.5'],
    ['.55', '0.55'],
    ['187.', '187'],
    [' 187.5 ', '187.5'],
    ['-0.00', '0'],
    ['1e-7', '0.0000001'],
    [`1${'0'.repeat(39)}`, `1${'0'.repeat(39)}`],
  ])('a number %s', (text, price) => {
    expect(viewOf('account', { ...accountRow, price })).toMatchObject({ price });
    expect(viewOf('account', { ...accountRow, price: text })).toMatchObject({ price });
    expect(viewOf('account', { ...accountRow, qty: '1e2', cumQty: '+0' })).toMatchObject({
      quantity: '100',
      cumQty: '0',
    });
  });

  it.each(['187,5', '1,000', '0x10', '1e3e', '--1', '1 2', 'NaN', 'Infinity', '187.5 USD', '1e999', '١'])(
    'and not where the number %s does',
    (price) => {
      expect(decoded('account', { ...accountRow, price })).toMatchObject({ kind: 'unreadable', reason: 'bad_decimal' });
    },
  );

  it.each([
    ['2026-11-21T14:30:00.5+0000', '2026-11-21T14:30:00.5+00:00'],
    ['2026-11-21T14:30:00-05', '2026-11-21T14:30:00-05:00'],
    ['2026-11-21t14:30:00z', '2026-11-21T14:30:00Z'],
    ['2026-11-21 14:30:00Z', '2026-11-21T14:30:00Z'],
    ['2026-11-21T14:30Z', '2026-11-21T14:30:00Z'],
    ['2026-11-21T14:30:00,25Z', '2026-11-21T14:30:00.25Z'],
    ['2026-11-21T14:30:00.123456789999Z', '2026-11-21T14:30:00.123456789Z'],
  ])('a time %s', (text, updatedAt) => {
    expect(viewOf('account', { ...accountRow, updatedAt: text, createdAt: text })).toMatchObject({
      updatedAt,
      createdAt: updatedAt,
    });
  });

  it.each(['2026-11-21T14:30:00', '2026-02-30T00:00:00+0000', '2026-11-21T24:00Z', '21.11.2026', '1795271400000'])(
    'and not where the time %s does, or has no zone',
    (updatedAt) => {
      expect(decoded('account', { ...accountRow, updatedAt })).toMatchObject({ reason: 'bad_instant' });
    },
  );

  it.each([
    ['new', 'new', 'NEW'],
    ['Partially_Filled', 'partially_filled', 'PARTIALLY_FILLED'],
    ['partially filled', 'partially_filled', 'PARTIALLY_FILLED'],
    ['Done-for-day', 'done_for_day', 'DONE_FOR_DAY'],
    ['CANCELLED', 'canceled', 'CANCELED'],
    [' Expired ', 'expired', 'EXPIRED'],
    ['pending_cancel', 'new', 'PENDING_CANCEL'],
    ['held by desk', 'unknown', 'HELD_BY_DESK'],
  ])('a status %s', (ordStatus, status, statusRaw) => {
    expect(viewOf('account', { ...accountRow, ordStatus })).toMatchObject({ status, statusRaw });
  });

  it('and the words of a prediction order', () => {
    const words = { state: 'CANCELLED', certainty: 'CERTAIN', pendingAction: 'NONE', side: ' Buy ', outcome: 'yes' };
    expect(viewOf('prediction', { ...predictionRow, ...words, version: '7' })).toMatchObject({
      ...{ status: 'canceled', statusRaw: 'canceled', certainty: 'certain', pendingAction: 'none', side: 'buy' },
      instrument: { outcome: 'YES' },
    });
  });
});
