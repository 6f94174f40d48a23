// What a user saw: Of 200 orders whose fills were taken back, 136 went on showing too many fills.

import { describe, expect, it } from 'vitest';
import { connectorsRig } from '../../support/orders/connectors-rig.ts';
import { storeBehind } from '../../support/orders/reducing-sink.ts';
import { accountRow, type Row } from '../../support/platform/platform-rows.ts';

/**
 * Filled orders of one account, in a platform that filters its lists as
 * asked, and a store that reduces what comes.
 */
async function filled(count: number) {
  const rig = connectorsRig();
  const store = storeBehind(rig);
  rig.platform.shows = (row, { updatedAfter }) =>
    updatedAfter === undefined || Date.parse(String(row['updatedAt'])) > Date.parse(updatedAfter);
  const rows = (cumQty: string, ordStatus: string): Row[] =>
    Array.from({ length: count }, (_, i) => {
      const updatedAt = new Date(rig.clock.nowMs()).toISOString();
      return { ...accountRow, ordId: `o-${i}`, ordStatus, cumQty, leavesQty: '0', avgPrice: '10', updatedAt };
    });
  const put = (shown: Row[]) => rig.platform.rows.set('account:acct-1', shown);
  put(rows('100', 'FILLED'));
  await rig.begin();
  await rig.until('account', 'live');
  await rig.clock.advance(600_000);
  const withCumQty = (cumQty: string) =>
    [...store.heads.values()].filter(({ order }) => order.cumQty === cumQty).length;
  expect(withCumQty('100')).toBe(count);
  rig.platform.gets.length = 0;
  return { ...rig, store, rows, put, withCumQty };
}

describe.each(['CANCELED', 'PARTIALLY_FILLED'])(
  'a thousand orders whose fills are taken back at once, now %s,',
  (status) => {
    it('are right within ten minutes, by two reads each, while the market goes on', async () => {
      const { platform, clock, put, rows, withCumQty, account } = await filled(1_000);
      const busted = rows('50', status);
      put(busted);
      for (const row of busted) platform.emit('account', 'acct-1', row);
      expect(account('account', 'acct-1')?.inDoubt).toBe(1_000);
      for (let minute = 0; minute < 10; minute += 1) {
        const mover: Row = { ...accountRow, ordId: 'mover', updatedAt: new Date(clock.nowMs()).toISOString() };
        put([...busted, mover]);
        platform.emit('account', 'acct-1', mover);
        await clock.advance(60_000);
      }
      expect([withCumQty('50'), withCumQty('100')]).toEqual([1_000, 0]);
      expect(platform.gets.length).toBeLessThan(2_100);
      expect(account('account', 'acct-1')?.inDoubt).toBe(0);
    });
  },
);

it('are read no faster than ten a second, whatever the number of accounts', async () => {
  const { platform, clock, put, rows } = await filled(300);
  const busted = rows('50', 'CANCELED');
  put(busted);
  for (const row of busted) platform.emit('account', 'acct-1', row);
  await clock.advance(10_000);
  expect(platform.gets.length).toBeGreaterThan(80);
  expect(platform.gets.length).toBeLessThanOrEqual(101);
});

it('are found by the audit, when the stream said nothing of it', async () => {
  const { clock, put, rows, withCumQty } = await filled(200);
  put(rows('50', 'PARTIALLY_FILLED'));
  await clock.advance(300_000);
  expect(withCumQty('50')).toBe(200);
});

it('are kept while the platform does not answer, and no complete read is remembered past them', async () => {
  const { platform, clock, put, rows, withCumQty, registry, account } = await filled(30);
  const bustedMs = clock.nowMs();
  const busted = rows('50', 'PARTIALLY_FILLED');
  put(busted);
  platform.getError = () => ({ status: 503, message: 'down', retryable: true, sent: 'yes' });
  for (let minute = 0; minute < 30; minute += 1) {
    put([...busted, { ...accountRow, ordId: 'mover', updatedAt: new Date(clock.nowMs()).toISOString() }]);
    await clock.advance(60_000);
  }
  expect([withCumQty('50'), account('account', 'acct-1')?.inDoubt]).toEqual([0, 30]);
  expect(Date.parse(registry.get('account', 'acct-1')?.readUpTo ?? '')).toBeLessThanOrEqual(bustedMs);
  platform.getError = undefined;
  await clock.advance(60_000);
  expect([withCumQty('50'), account('account', 'acct-1')?.inDoubt]).toEqual([30, 0]);
});

it('are found by the look at an order that no read shows', async () => {
  const { platform, clock, put, rows, store } = await filled(1);
  const open = {
    ...accountRow,
    ordId: 'open',
    ordStatus: 'PARTIALLY_FILLED',
    cumQty: '60',
    leavesQty: '40',
    avgPrice: '10',
  };
  platform.emit('account', 'acct-1', { ...open, updatedAt: new Date(clock.nowMs()).toISOString() });
  await clock.advance(1_000);
  const updatedAt = new Date(clock.nowMs()).toISOString();
  put([...rows('100', 'FILLED'), { ...open, cumQty: '20', leavesQty: '80', updatedAt }]);
  const { shows } = platform;
  platform.shows = (row, request) => row['ordId'] !== 'open' && shows(row, request);
  await clock.advance(120_000);
  expect(store.heads.get('account:open')?.order).toMatchObject({ cumQty: '20', status: 'partially_filled' });
});
