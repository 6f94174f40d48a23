// What a user saw: The service asked 87,000 times for orders that the platform had lost, and showed none.

import { expect, it, onTestFinished } from 'vitest';
import { connectorsRig } from '../../support/orders/connectors-rig.ts';
import { accountRow, predictionRow } from '../../support/platform/platform-rows.ts';

const gone = (count: number) =>
  Array.from({ length: count }, (_, i) => ({
    orderId: `gone-${String(i).padStart(5, '0')}`,
    status: 'new',
    sourceVersion: undefined,
    updatedAt: '2026-01-01T00:00:00Z',
  }));

async function holding(count: number) {
  const rig = connectorsRig();
  await rig.begin();
  await rig.until('account', 'live');
  rig.registry.open.set('account:acct-1', gone(count));
  rig.platform.gets.length = 0;
  return rig;
}

it('are asked for at growing intervals, and shown after a quarter of an hour', async () => {
  const { platform, clock, account, state } = await holding(3_000);
  await clock.advance(5 * 60_000);
  expect(account('account', 'acct-1')?.absent).toEqual([]);
  await clock.advance(25 * 60_000);
  // At about 1, 2, 4, 8 and 16 minutes: it were 87,000 requests.
  expect(platform.gets.length).toBe(15_000);
  expect(account('account', 'acct-1')?.absent).toMatchObject([{ cause: 'forgotten', orders: 3_000 }]);
  expect(account('account', 'acct-1')?.absent[0]?.orderIds).toHaveLength(20);
  expect(state('account')).toBe('live');
});

it('are not asked for again by each reconnect', async () => {
  const { platform, clock, socket, until } = await holding(100);
  await clock.advance(90_000);
  expect(platform.gets.length).toBeGreaterThanOrEqual(100);
  platform.gets.length = 0;
  for (let i = 0; i < 5; i += 1) {
    socket('account').end({ kind: 'closed', code: 1001, reason: 'restart' });
    await until('account', 'resyncing');
    await until('account', 'live');
  }
  expect(platform.gets.length).toBeLessThanOrEqual(100);
});

it('are orders like any other as soon as they are seen again', async () => {
  const { platform, clock, account } = await holding(2);
  await clock.advance(1_800_000);
  platform.emit('account', 'acct-1', { ...accountRow, ordId: 'gone-00000' });
  expect(account('account', 'acct-1')?.absent).toEqual([{ cause: 'forgotten', orders: 1, orderIds: ['gone-00001'] }]);
  platform.rows.set('account:acct-1', [{ ...accountRow, ordId: 'gone-00001' }]);
  await clock.advance(80_000);
  expect(account('account', 'acct-1')?.absent).toEqual([]);
});

it('are shown at once where the platform lost its store', async () => {
  const rig = connectorsRig();
  await rig.connectors.begin();
  onTestFinished(() => rig.connectors.end());
  await rig.until('prediction', 'live');
  rig.registry.open.set('prediction:acct-1', gone(2));
  const lost = {
    ...predictionRow,
    certainty: 'unknown_store_lost',
    updatedAt: new Date(rig.clock.nowMs()).toISOString(),
  };
  rig.platform.rows.set('prediction:acct-1', [{ ...lost, version: '1' }]);
  rig.platform.emit('prediction', 'acct-1', lost, 1n);
  expect(rig.state('prediction')).toBe('frozen');
  await rig.until('prediction', 'live');
  expect(rig.account('prediction', 'acct-1')?.absent).toEqual([
    { cause: 'store_lost', orders: 2, orderIds: ['gone-00000', 'gone-00001'] },
  ]);
});
