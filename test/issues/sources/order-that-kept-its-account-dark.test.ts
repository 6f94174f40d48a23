// What a user saw: One order that the platform could not show kept its account from being live for ever.

import { expect, it } from 'vitest';
import { connectorsRig } from '../../support/orders/connectors-rig.ts';
import { storeBehind } from '../../support/orders/reducing-sink.ts';
import { accountRow } from '../../support/platform/platform-rows.ts';

async function withRestingOrders(...orderIds: string[]) {
  const rig = connectorsRig();
  const store = storeBehind(rig);
  await rig.begin();
  await rig.until('account', 'live');
  const updatedAt = new Date(rig.clock.nowMs()).toISOString();
  for (const ordId of orderIds) rig.platform.emit('account', 'acct-1', { ...accountRow, ordId, updatedAt });
  await rig.clock.advance(10_000);
  expect(store.heads.size).toBe(orderIds.length);
  await rig.connectors.end();
  return rig;
}

const away = { status: 503, message: 'try again', retryable: true, sent: 'yes' } as const;

it('an account gets live beside one order that its platform never shows', async () => {
  const rig = await withRestingOrders('ord-1', 'ord-2', 'ord-3');
  rig.platform.getError = (orderId) => (orderId === 'ord-2' ? away : undefined);
  await rig.begin();
  await rig.until('account', 'live', 'acct-1', 300_000);
  expect(new Set(rig.platform.gets)).toEqual(new Set(['ord-1', 'ord-2', 'ord-3']));
  await rig.connectors.end();
});

it('it does not where the platform shows none, nor the list of the open ones', async () => {
  const rig = await withRestingOrders('ord-1');
  rig.platform.getError = () => away;
  rig.platform.listError = ({ state }) => (state === 'open' ? away : undefined);
  await rig.begin();
  await rig.clock.advance(300_000);
  expect(rig.state('account')).not.toBe('live');
  await rig.connectors.end();
});
