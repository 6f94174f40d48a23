// What a user saw: Each order that REST told more of than the stream was called lost by the stream.

import { expect, it } from 'vitest';
import { liveConnectors } from '../../support/orders/connectors-rig.ts';
import { storeBehind } from '../../support/orders/reducing-sink.ts';
import { accountRow, type Row } from '../../support/platform/platform-rows.ts';

/** The stream has told of the order, and REST shows it to the next audit as `row`. */
async function audited(row: Row, before: Row = accountRow) {
  const rig = await liveConnectors();
  const store = storeBehind(rig);
  rig.platform.emit('account', 'acct-1', before);
  await rig.clock.advance(1_000);
  rig.platform.rows.set('account:acct-1', [row]);
  const found = () => rig.account('account', 'acct-1')?.lastAuditFound;
  await rig.clock.advanceUntil(() => found()?.changes === 1, 180_000);
  return { ...rig, found, order: () => store.heads.get('account:ord-1')?.order };
}

it('a row that adds a fact at the same instant is a change, and no loss', async () => {
  const before = { ...accountRow, ordStatus: 'PARTIALLY_FILLED', cumQty: '40', leavesQty: '60' };
  const { clock, found, order } = await audited({ ...before, avgPrice: '191.50' }, before);
  await clock.advance(6_000);
  expect(found()).toEqual({ orders: 1, changes: 1, silentLosses: 0 });
  expect(order()).toMatchObject({ avgPrice: '191.5' });
});

it.each([
  ['at the same instant', accountRow['updatedAt']],
  ['later', '2026-11-21T14:30:02.000Z'],
])('a row that shows a fill %s is a loss', async (_, updatedAt) => {
  const { clock, found } = await audited({
    ...accountRow,
    ordStatus: 'PARTIALLY_FILLED',
    cumQty: '40',
    leavesQty: '60',
    avgPrice: '191.50',
    updatedAt,
  });
  await clock.advance(6_000);
  expect(found()).toMatchObject({ changes: 1, silentLosses: 1 });
});

it('a change is not called lost in silence where its connection ended meanwhile', async () => {
  const { clock, socket, metrics, until } = await audited({
    ...accountRow,
    ordStatus: 'PARTIALLY_FILLED',
    cumQty: '40',
    leavesQty: '60',
    avgPrice: '191.50',
    updatedAt: '2026-11-21T14:30:02.000Z',
  });
  socket('account').end({ kind: 'closed', code: 1006, reason: '' });
  await clock.advance(6_000);
  await until('account', 'live');
  const { values } = await metrics.silentLosses.get();
  expect(values.reduce((sum, { value }) => sum + value, 0)).toBe(0);
});
