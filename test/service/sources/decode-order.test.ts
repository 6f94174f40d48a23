import { describe, expect, it } from 'vitest';
import type { Observation, Unreadable } from '../../../src/domain/observation.ts';
import { decodeOrder, type RowOrigin } from '../../../src/service/sources/decode-order.ts';
import { parseJson } from '../../../src/venue/parse-json.ts';
import { decodeFrame } from '../../../src/venue/platform/decode-frame.ts';
import { accountRow, eventText, predictionRow, type Row } from '../../../src/venue/platform/fixtures/rows.ts';
import { platformVenue } from '../../../src/venue/platform/platform-venue.ts';

function origin(stream: 'account' | 'prediction', over: Partial<RowOrigin> = {}): RowOrigin {
  return {
    venue: platformVenue,
    stream,
    cause: 'stream',
    accountId: 'acct-1',
    sourceEpoch: 3,
    observedAtMs: 1_000,
    receivedMs: 5,
    bytes: 500,
    ...over,
  };
}

function fromStream(stream: 'account' | 'prediction', row: Row, version?: string | bigint) {
  const text = eventText(stream, 'acct-1', row, version);
  const frame = decodeFrame(text);
  if (frame.kind !== 'event') throw new Error(`not an event: ${JSON.stringify(frame)}`);
  return decodeOrder(frame.row, origin(stream), () => text);
}

function readable(item: ReturnType<typeof decodeOrder>): Observation {
  if (item.kind !== 'order') throw new Error(JSON.stringify(item));
  return item;
}

function refused(item: ReturnType<typeof decodeOrder>): Unreadable {
  if (item.kind !== 'unreadable') throw new Error('it was readable');
  return item;
}

describe('a view', () => {
  it('has the same fields in the same order, whatever the row has and whichever stream it came from', () => {
    const { accountId: _, createdAt: __, ...bare } = accountRow;
    const views = [
      fromStream('prediction', predictionRow, 1n),
      fromStream('prediction', { ...predictionRow, price: null, closedAt: '2026-01-05T15:00:00Z', desk: 'x' }, 2n),
      fromStream('account', accountRow),
      fromStream('account', { ...bare, text: 'working' }),
      fromStream('account', { ...accountRow, ordStatus: 'REJECTED', text: 'no margin' }),
    ].map((item) => Object.keys(readable(item).view));
    expect(new Set(views.map((fields) => fields.join(' '))).size).toBe(1);
  });
});

describe('a prediction order', () => {
  it('without a version on the stream becomes a dead letter, named', () => {
    const item = refused(fromStream('prediction', predictionRow));
    expect(item).toMatchObject({
      reason: 'missing_version',
      stream: 'prediction',
      accountId: 'acct-1',
      orderId: predictionRow['orderId'],
    });
    expect(item.raw).toBe(eventText('prediction', 'acct-1', predictionRow));
  });

  it('may come without a version in a reply', () => {
    const item = readable(decodeOrder(predictionRow, origin('prediction', { cause: 'snapshot' }), () => ''));
    expect(item.sourceVersion).toBeUndefined();
  });

  it('takes a number for its text, digit for digit', () => {
    const row = { ...predictionRow, quantity: 10, workingQuantity: 10, price: 0.4 };
    const text = JSON.stringify(row).replace('"price":0.4', '"price":0.12345678901234567891');
    const { view } = readable(decodeOrder(parseJson(text), origin('prediction', { cause: 'snapshot' }), () => ''));
    expect(view).toMatchObject({ quantity: '10', price: '0.12345678901234567891' });
  });

  it('carries what it cannot read of a field that nothing depends on', () => {
    const { view } = readable(
      fromStream('prediction', { ...predictionRow, avgPx: 'n/a', closedAt: 5, rejectText: {} }, 1n),
    );
    expect(view.extra).toEqual({ avgPx: 'n/a', closedAt: 5, rejectText: {} });
    expect(view.avgPrice).toBeUndefined();
  });

  it.each([
    [{ cumQty: null }, { cumQty: '0', leavesQty: '10' }],
    [
      { state: 'partially_filled', cumQty: null, leavesQty: '7' },
      { cumQty: '3', leavesQty: '7' },
    ],
    [
      { state: 'partially_filled', cumQty: '3', leavesQty: null },
      { cumQty: '3', leavesQty: '7' },
    ],
    [
      { state: 'canceled', cumQty: '3', leavesQty: undefined },
      { cumQty: '3', leavesQty: '0' },
    ],
    [
      { workingQuantity: '', leavesQty: '' },
      { leavesQty: '10', working: { quantity: '10' } },
    ],
    [
      { timeInForce: null, orderType: '' },
      { timeInForce: 'unknown', orderType: 'unknown' },
    ],
  ])('with %j follows from the rest of the row', (change, expected) => {
    expect(readable(fromStream('prediction', { ...predictionRow, ...change }, 1n)).view).toMatchObject(expected);
  });

  it('reads null and empty optional fields as absent', () => {
    const { view } = readable(
      fromStream('prediction', { ...predictionRow, price: null, clOrdId: '', closedAt: null }, 1n),
    );
    expect([view.price, view.clOrdId, view.closedAt]).toEqual([undefined, undefined, undefined]);
  });

  it('cuts a reject text of a megabyte, and repairs NUL', () => {
    const row = { ...predictionRow, rejectText: `no\u0000${'x'.repeat(1_000_000)}` };
    const { view } = readable(fromStream('prediction', row, 1n));
    expect(view.rejectText).toHaveLength(4096);
    expect(view.rejectText?.startsWith('no\ufffdxx')).toBe(true);
  });

  it('replaces unknown fields by their names when they would outgrow a record', () => {
    const { view } = readable(fromStream('prediction', { ...predictionRow, blob: 'x'.repeat(100_000) }, 1n));
    expect(view.extra).toEqual({ cut: ['blob'] });
  });

  it('keeps a field named `__proto__` a field', () => {
    const text = eventText('prediction', 'acct-1', predictionRow, 1n).replace(
      '"symbol"',
      '"__proto__":{"side":"sell"},"symbol"',
    );
    const frame = decodeFrame(text);
    const item = readable(decodeOrder(frame.kind === 'event' && frame.row, origin('prediction'), () => text));
    expect(item.view.side).toBe('buy');
    expect(Object.getPrototypeOf(item.view.extra)).toBe(Object.prototype);
    expect(Object.keys(item.view.extra ?? {})).toEqual(['__proto__']);
  });
});

describe('an account order', () => {
  it('is partially filled while the cancel of a filled part is pending', () => {
    const { view } = readable(fromStream('account', { ...accountRow, ordStatus: 'PENDING_CANCEL', cumQty: '5' }));
    expect(view).toMatchObject({ status: 'partially_filled', pendingAction: 'cancel', statusRaw: 'PENDING_CANCEL' });
  });

  it.each([
    ['BUY', 'buy'],
    ['SELL_SHORT', 'sell_short'],
    ['BUY_TO_COVER', 'buy_to_cover'],
    ['SELL_SHORT_EXEMPT', 'sell_short_exempt'],
  ])('of side %s has the side %s, in the case of prediction orders', (side, written) => {
    expect(readable(fromStream('account', { ...accountRow, side })).view.side).toBe(written);
  });

  it.each([
    [{ symbol: 'AAPL261218C00200000' }],
    [{ symbol: 'AAPL', securityType: 'OPTION' }],
    [{ symbol: 'AAPL', category: 'OPTIONS' }],
  ])('with the words of an option is one, whatever else it says: %j', (over) => {
    const { instrument } = readable(fromStream('account', { ...accountRow, ...over })).view;
    expect(instrument).toEqual({ kind: 'option', symbol: over.symbol });
  });
});

describe('any row', () => {
  it('of another account is foreign', () => {
    expect(fromStream('prediction', { ...predictionRow, accountId: 'acct-2' }, 1n)).toEqual({
      kind: 'foreign',
      accountId: 'acct-2',
    });
    expect(fromStream('account', { ...accountRow, accountId: 'acct-2' })).toEqual({
      kind: 'foreign',
      accountId: 'acct-2',
    });
  });

  it.each([[null], [5], ['x'], [[]], [undefined]])('that is %j is kept as a dead letter without a name', (row) => {
    const item = refused(decodeOrder(row, origin('account'), () => 'raw'));
    expect(item).toMatchObject({ reason: 'not_an_object', raw: 'raw' });
    expect('orderId' in item).toBe(false);
  });
});

describe('issue: A row of another account was stored for ours where its venue calls the field otherwise.', () => {
  it('is foreign by the field that the venue names', () => {
    const { account } = platformVenue;
    const orders = { ...account.orders, names: { ...account.orders.names, accountId: 'acct' } };
    const venue = { account: { ...account, orders } };
    const { accountId: _, ...row } = accountRow;
    const read = (acct: unknown) => decodeOrder({ ...row, acct }, origin('account', { venue }), () => '');
    expect(read('acct-2')).toEqual({ kind: 'foreign', accountId: 'acct-2' });
    expect(read('acct-1')).toMatchObject({ kind: 'order', view: { accountId: 'acct-1' } });
  });
});
