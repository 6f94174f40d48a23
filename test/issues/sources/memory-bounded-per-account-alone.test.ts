// What a user saw: With many accounts, the memory of the service grew without a limit during audits.

import { expect, it, onTestFinished } from 'vitest';
import { ByteBudget } from '../../../src/runtime/byte-budget.ts';
import { connectorsRig } from '../../support/orders/connectors-rig.ts';
import { storeBehind } from '../../support/orders/reducing-sink.ts';
import { accountRow, predictionRow } from '../../support/platform/platform-rows.ts';

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
      platform.emit(
        'prediction',
        accountId,
        { ...predictionRow, accountId, orderId: `${accountId}-${i}` },
        BigInt(i + 1),
      );
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

it('changes that an audit has found and that wait for the stream share the room, and too many leave the audit incomplete', async () => {
  const rig = await manyAccounts(1);
  const { platform, sink, clock, account, budget } = rig;
  await rig.start();
  const show = (count: number) => {
    const row = { ...predictionRow, accountId: 'acct-0' };
    platform.rows.set(
      'prediction:acct-0',
      Array.from({ length: count }, (_, i) => ({ ...row, orderId: `found-${i}` })),
    );
  };
  const audited = () => account('prediction', 'acct-0')?.lastAuditMs ?? 0;
  show(100);
  const firstMs = clock.nowMs();
  expect(await clock.advanceUntil(() => audited() > firstMs, 120_000)).toBe(true);
  expect(budget.usedBytes).toBeGreaterThan(100 * 100);
  await clock.advance(6_000);
  expect(budget.usedBytes).toBe(0);
  show(1_000);
  const errorOf = () => account('prediction', 'acct-0')?.lastError;
  expect(await clock.advanceUntil(() => errorOf() !== undefined, 120_000)).toBe(true);
  expect(errorOf()).toContain('TIDEMARK_NOTES_MAX_BYTES');
  expect(rig.most()).toBeLessThanOrEqual(maxBytes);
  await clock.advance(6_000);
  expect(budget.usedBytes).toBe(0);
  sink.outcome = () => 'duplicate';
  const secondMs = clock.nowMs();
  expect(await clock.advanceUntil(() => audited() > secondMs, 120_000)).toBe(true);
});

it('orders in doubt for which there is no room are met again by later audits until each is right', async () => {
  const rig = await manyAccounts(3);
  const { platform, clock, accounts, budget } = rig;
  const store = storeBehind(rig);
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

it('no account is read past its orders in doubt while another one has all of the room', async () => {
  const rig = await manyAccounts(2);
  const { platform, clock } = rig;
  const store = storeBehind(rig);
  platform.shows = (row, { updatedAfter }) =>
    updatedAfter === undefined || Date.parse(String(row['updatedAt'])) > Date.parse(updatedAfter);
  // One that changes all the time: what each list shows of it is newer than any order in doubt.
  const busy = {
    ...{ ...accountRow, accountId: 'acct-1', ordId: 'busy' },
    get updatedAt() {
      return new Date(clock.nowMs()).toISOString();
    },
  };
  const put = (accountId: string, count: number, filled: object) => {
    const updatedAt = new Date(clock.nowMs()).toISOString();
    const row = { ...accountRow, accountId, leavesQty: '0', avgPrice: '10', updatedAt, ...filled };
    const rows = Array.from({ length: count }, (_, i) => ({ ...row, ordId: `${accountId}-${i}` }));
    platform.rows.set(`account:${accountId}`, accountId === 'acct-1' ? [...rows, busy] : rows);
    return rows;
  };
  const both = (filled: object) => [...put('acct-0', 250, filled), ...put('acct-1', 20, filled)];
  both({ ordStatus: 'FILLED', cumQty: '100' });
  await rig.start();
  await clock.advance(600_000);
  platform.getError = (orderId) =>
    orderId.startsWith('acct-0')
      ? { code: 'UNREACHABLE', message: 'no answer', retryable: true, sent: 'maybe' }
      : undefined;
  for (const row of both({ ordStatus: 'CANCELED', cumQty: '50' })) platform.emit('account', row.accountId, row);
  await clock.advance(1_200_000);
  platform.getError = undefined;
  const right = () => [...store.heads.values()].filter(({ order }) => order.cumQty === '50').length;
  expect(right()).toBe(0);
  expect(await clock.advanceUntil(() => right() === 270, 1_800_000)).toBe(true);
});

it('orders that the platform has forgotten are remembered as far as there is room, and every read asks for the others', async () => {
  const rig = await manyAccounts(2);
  const { platform, clock, accounts, account } = rig;
  await rig.start();
  const forgotten = Array.from({ length: 300 }, (_, i) => ({
    orderId: `gone-${i}`,
    status: 'new',
    sourceVersion: undefined,
    updatedAt: '2026-01-01T00:00:00Z',
  }));
  for (const accountId of accounts) rig.registry.open.set(`account:${accountId}`, forgotten);
  await clock.advance(1_800_000);
  const shown = accounts.reduce((sum, accountId) => sum + (account('account', accountId)?.absent[0]?.orders ?? 0), 0);
  // Half of the room is for what is held for long.
  expect(shown).toBeGreaterThan(100);
  expect(shown).toBeLessThan(320 / 2 + 40);
  expect(rig.most()).toBeLessThanOrEqual(maxBytes);
  platform.gets.length = 0;
  await clock.advance(130_000);
  expect(platform.gets.length).toBeGreaterThanOrEqual(600 - shown);
});

it('frames that wait for a lost store share the room, and the account is read again for those that had none', async () => {
  const rig = await manyAccounts(1);
  const { platform, sink, budget } = rig;
  const row = { ...predictionRow, accountId: 'acct-0' };
  platform.rows.set('prediction:acct-0', [{ ...row, version: '100', updatedAt: '2026-01-05T14:00:00Z' }]);
  await rig.start();
  const lost = { ...row, certainty: 'unknown_store_lost', updatedAt: '2026-01-05T14:29:00Z' };
  platform.emit('prediction', 'acct-0', lost, 1n);
  let flooded = false;
  platform.beforeList = async ({ stream }) => {
    if (stream !== 'prediction' || flooded) return;
    flooded = true;
    const restored = { ...lost, orderId: 'restored-1', certainty: 'certain' };
    for (let i = 1; i <= 900; i += 1) platform.emit('prediction', 'acct-0', restored, BigInt(i));
    expect(budget.usedBytes).toBeGreaterThan(maxBytes / 2);
  };
  const lists = platform.lists.length;
  await rig.until('prediction', 'live', 'acct-0');
  expect(rig.most()).toBeLessThanOrEqual(maxBytes);
  // The trial, the complete list, and one more for what was dropped.
  expect(platform.lists.slice(lists).filter(({ stream }) => stream === 'prediction')).toHaveLength(3);
  const taken = sink.observations.filter(({ cause, sourceEpoch }) => cause === 'stream' && sourceEpoch === 1).length;
  expect(taken).toBeGreaterThan(10);
  expect(taken).toBeLessThan(900);
});

it('orders that say that the store is lost share the room of what is held for long', async () => {
  const rig = await manyAccounts(1);
  await rig.start();
  const lost = { ...predictionRow, accountId: 'acct-0', certainty: 'unknown_store_lost' };
  const rows = Array.from({ length: 900 }, (_, i) => ({
    ...{ ...lost, orderId: `lost-${i}` },
    updatedAt: new Date(rig.clock.nowMs()).toISOString(),
    version: String(i + 1),
  }));
  rig.platform.rows.set('prediction:acct-0', rows);
  rig.platform.emit('prediction', 'acct-0', rows[0] ?? lost, 1n);
  await rig.until('prediction', 'live', 'acct-0');
  await rig.clock.advance(10_000);
  expect(rig.budget.usedBytes).toBeGreaterThan(maxBytes / 4);
  expect(rig.most()).toBeLessThanOrEqual(maxBytes / 2);
});
