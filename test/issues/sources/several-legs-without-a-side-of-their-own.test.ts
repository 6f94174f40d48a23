// What a user saw: An order of several legs was in quarantine: its own symbol and side were empty texts.

import { describe, expect, it } from 'vitest';
import { bindOrder } from '../../../src/service/orders/load-known.ts';
import { decodeOrder } from '../../../src/service/sources/decode-order.ts';
import { accountRow } from '../../support/platform/platform-rows.ts';

const leg = (symbol: string, side: string) => ({ symbol, side, ratioQty: '1', positionEffect: 'OPEN' });
const spread = [leg('AAPL  261218C00200000', 'BUY'), leg('AAPL  261218C00210000', 'SELL')];
const row = (more: object) => ({ ...accountRow, securityType: 'MLEG', category: 'option', legs: spread, ...more });
const decoded = (more: object) =>
  decodeOrder(
    row(more),
    { stream: 'account', accountId: 'acct-1', cause: 'snapshot', sourceEpoch: 0 } as never,
    () => '',
  );

describe('an order of several legs', () => {
  it.each(['', null, undefined])(
    'has the underlying of its legs, and no side of its own, where both are %j',
    (none) => {
      expect(decoded({ symbol: none, side: none })).toMatchObject({
        kind: 'order',
        view: {
          instrument: { kind: 'option', symbol: 'AAPL', legs: [{ side: 'buy' }, { side: 'sell' }] },
          side: 'unknown',
        },
      });
    },
  );

  it('has the symbol and the side that it is given', () => {
    expect(decoded({ symbol: 'SPX', side: 'SELL' })).toMatchObject({
      kind: 'order',
      view: { instrument: { symbol: 'SPX' }, side: 'sell' },
    });
  });

  it('is ours by its reference and account, where it has no side', () => {
    const item = decoded({ symbol: '', side: '' });
    if (item.kind !== 'order') throw new Error('it can not be read');
    const binding = { commandId: 'command-1', stream: 'account', accountId: 'acct-1', side: 'BUY' } as const;
    const bound = (side: string) => bindOrder({ ...item.view, side }, 'tm-1', binding as never)?.own.origin;
    expect(bound(item.view.side)).toBe('tidemark');
    expect(bound('sell')).not.toBe('tidemark');
  });

  it.each([{ symbol: '' }, { side: null }])('of one leg or none is kept aside as before: %j', (none) => {
    expect(decoded({ ...none, legs: [] })).toMatchObject({ kind: 'unreadable', reason: 'missing_field' });
    expect(decoded({ ...none, legs: spread.slice(0, 1) })).toMatchObject({
      kind: 'unreadable',
      reason: 'missing_field',
    });
  });
});
