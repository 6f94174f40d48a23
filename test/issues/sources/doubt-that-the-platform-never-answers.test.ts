// What a user saw: One order that could not be read by its id held back the marks of its account for ever.

import { expect, it } from 'vitest';
import { connectorsRig } from '../../support/orders/connectors-rig.ts';
import { storeBehind } from '../../support/orders/reducing-sink.ts';
import { accountRow } from '../../support/platform/platform-rows.ts';

it.each([
  ['a refusal for good ends the question', false],
  ['one that may pass keeps it open', true],
])('%s', async (_what, retryable) => {
  const rig = connectorsRig();
  storeBehind(rig);
  rig.platform.getError = () => ({ status: 405, message: 'no such method', retryable, sent: 'yes' });
  await rig.begin();
  await rig.until('account', 'live');
  const updatedAt = new Date(rig.clock.nowMs()).toISOString();
  // It contradicts itself, so it is read by its id.
  const row = { ...accountRow, ordStatus: 'FILLED', cumQty: '90', leavesQty: '0', avgPrice: '10', updatedAt };
  rig.platform.emit('account', 'acct-1', row);
  await rig.clock.advance(600_000);
  const asked = rig.platform.gets.length;
  expect(asked).toBeGreaterThan(1);
  await rig.clock.advance(60_000);
  expect(rig.platform.gets.length > asked).toBe(retryable);
  await rig.connectors.end();
});
