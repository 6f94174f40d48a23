import { describe, expect, it } from 'vitest';
import { terminalPrecedence } from '../../../src/domain/order.ts';
import { postgresAccountRegistry } from '../../../src/store/fleet/account-registry.ts';
import { unreadAccount } from '../../support/commands/unread-account.ts';
import { batch, head, storeRig } from '../../support/orders/store-rig.ts';

const account = unreadAccount('acct-1', { isSim: false });

describe('the account registry', () => {
  it('keeps what is saved last, with every digit of the instant', async () => {
    await using rig = await storeRig();
    const registry = postgresAccountRegistry(rig.deps);
    await registry.save(account);
    await registry.save({ ...account, stream: 'prediction', isSim: true });
    const marks = { readUpTo: '2026-11-21T14:31:07.123456789Z', auditedUpTo: '2026-11-21T14:31:06.123456789Z' };
    await registry.save({ ...account, ...marks });
    expect(await registry.load()).toEqual([
      { ...account, ...marks },
      { ...account, stream: 'prediction', isSim: true },
    ]);
  });

  it('takes nothing from a process that believes in an older source epoch', async () => {
    await using rig = await storeRig();
    const registry = postgresAccountRegistry(rig.deps);
    await registry.save({ ...account, sourceEpoch: 2, readUpTo: 'new' });
    await registry.save({ ...account, sourceEpoch: 1, readUpTo: 'old' });
    expect(await registry.load()).toEqual([{ ...account, sourceEpoch: 2, readUpTo: 'new' }]);
  });
});

describe('the open orders of an account', () => {
  it('are those that are not terminal and were not touched since, page by page', async () => {
    await using rig = await storeRig();
    const registry = postgresAccountRegistry(rig.deps);
    const statuses = [
      'pending_new',
      'new',
      'partially_filled',
      'done_for_day',
      'suspended',
      'unknown',
      ...terminalPrecedence,
    ];
    const heads = [
      ...statuses.map((status) => head(`is-${status}`, 1, { status })),
      head('foreign', 1, { accountId: 'acct-2' }),
      head('other-stream', 1, { stream: 'account', sourceVersion: null }),
      head('touched', 1),
    ];
    await rig.store.applyBatch(batch(rig.epoch, 1, [], { heads }));
    await rig.pool.query("update orders set updated_at = '2026-11-21T12:00:00Z' where order_id <> 'touched'");
    const aMinute = 60_000;
    const open = await registry.openOrders('prediction', 'acct-1', aMinute, '', 100);
    expect(open.map((order) => order.status)).toEqual([
      'done_for_day',
      'new',
      'partially_filled',
      'pending_new',
      'suspended',
      'unknown',
    ]);
    expect(open[1]).toEqual({
      orderId: 'is-new',
      status: 'new',
      sourceVersion: 9_007_199_254_740_993n,
      updatedAt: '2026-11-21T14:31:07.654321Z',
    });
    const pages = [];
    for (let after = ''; ; ) {
      const page = await registry.openOrders('prediction', 'acct-1', aMinute, after, 4);
      pages.push(page.length);
      after = page.at(-1)?.orderId ?? '';
      if (page.length < 4) break;
    }
    expect(pages).toEqual([4, 2]);
    expect(await registry.openOrders('account', 'acct-1', aMinute, '', 100)).toEqual([
      expect.objectContaining({ orderId: 'other-stream', sourceVersion: undefined }),
    ]);
    expect(await registry.openOrders('prediction', 'acct-1', 30 * 365 * 86_400_000, '', 100)).toEqual([]);
  });

  it('have those among them that were written before the clock of the database was set back', async () => {
    await using rig = await storeRig();
    const registry = postgresAccountRegistry(rig.deps);
    await rig.store.applyBatch(batch(rig.epoch, 1, [], { heads: [head('o-1', 1), head('o-2', 1)] }));
    await rig.pool.query("update orders set updated_at = now() + interval '1 hour' where order_id = 'o-1'");
    expect(await registry.openOrders('prediction', 'acct-1', 60_000, '', 100)).toMatchObject([{ orderId: 'o-1' }]);
  });
});

it('an order is found by its id, open or ended', async () => {
  await using rig = await storeRig();
  const registry = postgresAccountRegistry(rig.deps);
  const state = JSON.stringify({ updatedAt: '2026-11-21T14:31:07Z', cumQty: '100' });
  const heads = [head('open', 1), head('filled', 1, { status: 'filled', state }), head('other', 1)];
  await rig.store.applyBatch(batch(rig.epoch, 1, [], { heads }));
  const named = await registry.ordersNamed('prediction', ['filled', 'none', 'open']);
  expect(named.toSorted((a, b) => (a.orderId < b.orderId ? -1 : 1))).toMatchObject([
    { orderId: 'filled', status: 'filled', cumQty: '100', updatedAt: '2026-11-21T14:31:07Z' },
    { orderId: 'open', status: 'new' },
  ]);
  expect(await registry.ordersNamed('account', ['open'])).toEqual([]);
});
