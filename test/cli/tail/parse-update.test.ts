import { describe, expect, it } from 'vitest';
import type { Update } from '../../../src/cli/io/order-text.ts';
import { parseUpdate, wanted } from '../../../src/cli/io/tail-records.ts';
import { sampleUpdate } from '../../support/orders/sample-update.ts';

function parsed(payload: string): Update {
  const update = parseUpdate(payload);
  if (update === undefined) throw new Error('not an update');
  return update;
}

describe('parseUpdate', () => {
  it('reads what the service writes', () => {
    expect(parsed(sampleUpdate({ revision: 7 }))).toMatchObject({
      eventId: 'account:ord-1:7',
      revision: 7,
      order: { status: 'partially_filled' },
    });
  });

  it('bears fields of a later version', () => {
    const later = { ...JSON.parse(sampleUpdate()), somethingNew: true };
    expect(parsed(JSON.stringify(later)).orderId).toBe('ord-1');
  });

  it.each(['', '{', 'null', '[]', '{"schema":"other"}'])('takes %j for no update', (value) => {
    expect(parseUpdate(value)).toBeUndefined();
  });
});

describe('wanted', () => {
  const update = parsed(sampleUpdate());

  it.each([
    [{}, true],
    [{ order: ['ord-1'] }, true],
    [{ order: ['account:ord-1'] }, true],
    [{ order: ['prediction:ord-1'] }, false],
    [{ order: ['ord'] }, false],
    [{ order: ['ord', 'ord-1'] }, true],
    [{ account: 'ACC-1' }, true],
    [{ account: 'ACC-2' }, false],
    [{ stream: 'account' }, true],
    [{ stream: 'prediction' }, false],
    [{ order: ['ord-1'], account: 'ACC-2' }, false],
    [{ symbol: 'AAPL', status: 'partially_filled' }, true],
    [{ symbol: 'AAP' }, false],
    [{ status: 'filled' }, false],
  ] as const)('the filter %j gives %s', (filter, expected) => {
    expect(wanted(update, filter)).toBe(expected);
  });

  it.each(['AAPL261218C00200000', 'AAPL  261218C00200000', 'aapl261218C00200000'])(
    'a symbol is found as %s',
    (symbol) => {
      const padded = { ...update, order: { ...update.order, instrument: { kind: 'option' as const, symbol } } };
      expect(wanted(padded, { symbol: 'AAPL261218C00200000' })).toBe(true);
      expect(wanted(padded, { symbol: 'AAPL' })).toBe(false);
    },
  );
});

it('finds an order by the end of its id that a line shows', () => {
  const update = parsed(sampleUpdate({ orderId: '301c73d7-a906-427d-af06-725ff8476cec' }));
  expect(['f8476cec', '301c73d7', '8476cec'].map((id) => wanted(update, { order: [id] }))).toEqual([
    true,
    false,
    false,
  ]);
});
