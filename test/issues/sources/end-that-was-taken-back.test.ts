// What a user saw: An order was shown as expired for ever although it worked again; its cancel was refused.

import { expect, it } from 'vitest';
import { connectorsRig } from '../../support/orders/connectors-rig.ts';
import { storeBehind } from '../../support/orders/reducing-sink.ts';
import { accountRow, type Row } from '../../support/platform/platform-rows.ts';

async function live() {
  const rig = connectorsRig();
  const store = storeBehind(rig);
  await rig.begin();
  await rig.until('account', 'live');
  const row = (ordStatus: string, over: Row = {}): Row => ({
    ...accountRow,
    ordStatus,
    updatedAt: new Date(rig.clock.nowMs()).toISOString(),
    ...over,
  });
  const shows = (shown: Row) => rig.platform.rows.set('account:acct-1', [shown]);
  const brings = async (event: Row, shown = event) => {
    shows(shown);
    rig.platform.emit('account', 'acct-1', event);
    await rig.clock.advance(1_000);
  };
  const order = () => store.heads.get('account:ord-1')?.order;
  return { ...rig, row, shows, brings, order };
}

it.each([
  ['EXPIRED', 'NEW', 'new', {}],
  ['CANCELED', 'PARTIALLY_FILLED', 'partially_filled', { cumQty: '40', leavesQty: '60' }],
  ['REJECTED', 'SUSPENDED', 'suspended', {}],
  ['FILLED', 'CANCELED', 'canceled', { cumQty: '100', leavesQty: '0' }],
] as const)('%s that becomes %s is corrected once two reads show it', async (end, word, status, filled) => {
  const { brings, row, order, clock, platform } = await live();
  await brings(row('NEW'));
  await brings(row(end, end === 'FILLED' ? { ...filled, avgPrice: '10' } : { leavesQty: '0' }));
  await brings(row(word, filled));
  expect(order()?.status, 'an event alone takes no end back').toBe(end.toLowerCase());
  await clock.advance(10_000);
  expect(order()).toMatchObject({ status });
  expect(order()?.conflict).toBeUndefined();
  expect(platform.gets).toEqual(['ord-1', 'ord-1']);
});

it('is found by the audit where the stream said nothing of it', async () => {
  const { brings, row, shows, order, clock } = await live();
  await brings(row('EXPIRED', { leavesQty: '0' }));
  shows(row('NEW'));
  await clock.advance(300_000);
  expect(order()).toMatchObject({ status: 'new', leavesQty: '100' });
});

it('is not taken back by an event that no read confirms, by an older read, or by a word that we do not know', async () => {
  const { brings, row, order, clock } = await live();
  const [before, expired] = [row('NEW'), row('EXPIRED', { leavesQty: '0', updatedAt: '2026-11-23T00:00:00Z' })];
  await brings(expired);
  await brings(row('NEW', { updatedAt: '2026-11-23T00:00:01Z' }), expired);
  await clock.advance(60_000);
  expect(order()?.status).toBe('expired');
  await brings(before);
  await brings(row('LIMBO', { updatedAt: '2026-11-23T00:00:02Z' }));
  await clock.advance(60_000);
  expect(order()?.status).toBe('expired');
});
