// What a user saw: An order whose symbol was renamed stayed `new` for ever, with no fills.

import { describe, expect, it } from 'vitest';
import { connectorsRig } from '../../support/orders/connectors-rig.ts';
import { ReducingSink } from '../../support/orders/reducing-sink.ts';
import { accountRow, predictionRow, type Row } from '../../support/platform/platform-rows.ts';

async function live(first: Row) {
  const rig = connectorsRig();
  const store = new ReducingSink(rig.clock);
  rig.sink.offer = (item) => store.offer(item);
  rig.platform.shows = () => false;
  await rig.begin();
  await rig.until('account', 'live');
  await rig.until('prediction', 'live');
  const bring = async (over: Row) => {
    const row = { ...first, ...over, updatedAt: new Date(rig.clock.nowMs()).toISOString() };
    rig.platform.rows.set('account:acct-1', [row]);
    rig.platform.emit('account', 'acct-1', row);
    await rig.clock.advance(3_000);
  };
  const order = () => store.heads.get('account:ord-1')?.order;
  return { ...rig, store, bring, order };
}

const leg = { symbol: 'MDU261218C00020000', side: 'BUY', ratioQty: '1', positionEffect: 'OPEN' };
const other = { symbol: 'MDU261218C00025000', side: 'SELL', ratioQty: '1', positionEffect: 'OPEN' };
const option: Row = { ...accountRow, symbol: 'MDU', securityType: 'MLEG', category: 'option', legs: [leg, other] };
const done = { ordStatus: 'FILLED', cumQty: '100', leavesQty: '0', avgPrice: '191.5' };

// Frozen at `new` with nothing filled: quarantined by each audit, as open as before in every count.
describe('an order is its id and its account', () => {
  it.each<[string, Row, Row, object]>([
    ['its symbol changes', accountRow, { symbol: 'META' }, { instrument: { kind: 'equity', symbol: 'META' } }],
    ['its side has another word', { ...accountRow, side: 'SELL' }, { side: 'SELL_SHORT' }, { side: 'sell_short' }],
    ['it becomes an option', accountRow, { category: 'option' }, { instrument: { kind: 'option', symbol: 'AAPL' } }],
    [
      'its contracts are adjusted',
      option,
      { symbol: 'MDU1', legs: [{ ...leg, symbol: 'MDU1261218C00020000' }, other] },
      { instrument: { symbol: 'MDU1', legs: [{ symbol: 'MDU1261218C00020000' }, { symbol: other.symbol }] } },
    ],
    [
      'its legs come in another order',
      option,
      { legs: [other, leg] },
      { instrument: { legs: [{ symbol: other.symbol }, { symbol: leg.symbol }] } },
    ],
  ])('it is followed where %s, and looked at once', async (_what, first, change, shown) => {
    const { bring, order, store, platform } = await live(first);
    await bring({});
    await bring({ ...change, ...done });
    expect(order()).toMatchObject({ status: 'filled', cumQty: '100', ...shown });
    expect(store.conflicts).toEqual([]);
    expect(platform.gets).toEqual(['ord-1']);
  });

  it('it is looked at once where its side has turned behind an event that left it out', async () => {
    const { bring, order, platform } = await live({ ...option, side: 'BUY' });
    await bring({});
    await bring({ side: null });
    expect(order()).toMatchObject({ side: 'unknown' });
    await bring({ side: 'SELL', ...done });
    expect(order()).toMatchObject({ side: 'sell' });
    expect(platform.gets).toEqual(['ord-1']);
  });

  it('it is followed where its OCC symbols are padded, under the compact ones and without a look', async () => {
    const { bring, order, store, platform } = await live(option);
    await bring({});
    await bring({ legs: [{ ...leg, symbol: 'MDU   261218C00020000' }, other], ...done });
    expect(order()).toMatchObject({
      status: 'filled',
      instrument: { legs: [{ symbol: leg.symbol }, { symbol: other.symbol }] },
    });
    expect(store.conflicts).toEqual([]);
    expect(platform.gets).toEqual([]);
  });

  it('the row of a prediction order may name another outcome and symbol: its version decides', async () => {
    const { platform, store, clock } = await live(accountRow);
    platform.emit('prediction', 'acct-1', predictionRow, 1n);
    platform.emit(
      'prediction',
      'acct-1',
      { ...predictionRow, outcome: 'NO', symbol: 'FED-CUT-2', state: 'filled' },
      2n,
    );
    platform.emit('prediction', 'acct-1', predictionRow, 1n);
    await clock.advance(1_000);
    const head = store.heads.get(`prediction:${predictionRow['orderId']}`);
    expect(head?.order).toMatchObject({ status: 'filled', instrument: { symbol: 'FED-CUT-2', outcome: 'NO' } });
    expect(store.conflicts).toEqual([]);
  });

  it('a known id under another account is quarantined, and changes nothing', async () => {
    const rig = connectorsRig();
    const store = new ReducingSink(rig.clock);
    rig.sink.offer = (item) => store.offer(item);
    rig.platform.accounts = ['acct-1', 'acct-2'].map((accountId) => ({ accountId, isOpen: true, isSim: true }));
    await rig.begin();
    await rig.until('account', 'live');
    await rig.until('account', 'live', 'acct-2');
    rig.platform.emit('account', 'acct-1', accountRow);
    const { accountId: _of, ...bare } = accountRow;
    rig.platform.emit('account', 'acct-2', { ...bare, ...done, updatedAt: '2026-11-21T14:31:00Z' });
    await rig.clock.advance(1_000);
    expect(store.conflicts).toEqual([expect.stringContaining('accountId')]);
    expect(store.heads.get('account:ord-1')?.order).toMatchObject({ accountId: 'acct-1', status: 'new' });
  });
});
