import { expect, it, onTestFinished } from 'vitest';
import { ByteBudget } from '../../src/runtime/byte-budget.ts';
import { connectorsRig } from '../support/connectors-rig.ts';
import { accountRow, predictionRow } from '../support/platform-rows.ts';
import { ReducingSink } from '../support/reducing-sink.ts';

/** Room for some 320 orders, of all accounts. */
const maxBytes = 64 * 1024;

async function manyAccounts(count: number) {
  let most = 0;
  const budget = new ByteBudget({ maxBytes, onUse: (bytes) => (most = Math.max(most, bytes)) });
  const rig = connectorsRig({}, budget);
  const accounts = Array.from({ length: count }, (_, i) => `acct-${i}`);
  rig.platform.accounts = accounts.map((accountId) => ({ accountId, isOpen: true, isSim: true }));
  const start = async () => {
    await rig.connectors.begin();
    onTestFinished(() => rig.connectors.end());
    for (const accountId of accounts) await rig.until('prediction', 'live', accountId);
    for (const accountId of accounts) await rig.until('account', 'live', accountId);
  };
  return { ...rig, budget, accounts, start, most: () => most };
}

it('an audit for whose notes there is no room counts as incomplete, gives its memory back and is made again', async () => {
  const rig = await manyAccounts(6);
  const { platform, clock, accounts, account, budget } = rig;
  await rig.start();
  let held: string | undefined;
  platform.beforeList = async ({ stream, accountId }) => {
    if (stream !== 'prediction' || held !== undefined) return;
    held = accountId;
    await clock.sleep(30_000);
  };
  await clock.advanceUntil(() => held !== undefined, 200_000);
  const audited = held ?? '';
  for (let i = 0; i < 2_000; i += 1)
    for (const accountId of accounts)
      platform.emit('prediction', accountId, { ...predictionRow, accountId, orderId: `${accountId}-${i}` }, BigInt(i + 1));
  expect(rig.most()).toBeGreaterThan(maxBytes / 2);
  expect(rig.most()).toBeLessThanOrEqual(maxBytes);
  expect(budget.usedBytes).toBe(0);
  expect(await clock.advanceUntil(() => account('prediction', audited)?.lastError !== undefined, 60_000)).toBe(true);
  expect(account('prediction', audited)).toMatchObject({
    state: 'live',
    lastError: expect.stringContaining('TIDEMARK_NOTES_MAX_BYTES'),
  });
  const beforeMs = clock.nowMs();
  const again = () => accounts.every((accountId) => (account('prediction', accountId)?.lastAuditMs ?? 0) > beforeMs);
  expect(await clock.advanceUntil(again, 300_000)).toBe(true);
  await rig.connectors.end();
  expect(budget.usedBytes).toBe(0);
});

it('orders in doubt for which there is no room are met again by later audits until each is right', async () => {
  const rig = await manyAccounts(3);
  const { platform, clock, accounts, budget } = rig;
  const store = new ReducingSink(clock);
  rig.sink.offer = (item) => store.offer(item);
  rig.registry.openOrders = (...asked) => store.openOrders(...asked);
  platform.shows = (row, { updatedAfter }) =>
    updatedAfter === undefined || Date.parse(String(row['updatedAt'])) > Date.parse(updatedAfter);
  const rows = (accountId: string, cumQty: string, ordStatus: string) =>
    Array.from({ length: 200 }, (_, i) => ({
      ...accountRow,
      accountId,
      ordId: `${accountId}-${i}`,
      ordStatus,
      cumQty,
      leavesQty: '0',
      avgPrice: '10',
      updatedAt: new Date(clock.nowMs()).toISOString(),
    }));
  const put = (cumQty: string, ordStatus: string) => {
    for (const accountId of accounts) platform.rows.set(`account:${accountId}`, rows(accountId, cumQty, ordStatus));
  };
  put('100', 'FILLED');
  await rig.start();
  await clock.advance(600_000);
  put('50', 'CANCELED');
  for (const accountId of accounts)
    for (const row of platform.rows.get(`account:${accountId}`) ?? []) platform.emit('account', accountId, row);
  const right = () => [...store.heads.values()].filter(({ order }) => order.cumQty === '50').length;
  expect(await clock.advanceUntil(() => right() === 600, 1_800_000)).toBe(true);
  expect(rig.most()).toBeLessThanOrEqual(maxBytes);
  await clock.advance(10_000);
  expect(budget.usedBytes).toBe(0);
});
