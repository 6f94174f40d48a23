import { describe, expect, it } from 'vitest';
import { encodeOrder } from '../../../src/domain/encode-update.ts';
import type { Head } from '../../../src/domain/head.ts';
import type { OrderStatus } from '../../../src/domain/order.ts';
import { HeadCache } from '../../../src/service/orders/head-cache.ts';
import { heldOrderReads } from '../../../src/service/run/rest-parts.ts';
import type { OrderReads, StoredOrder } from '../../../src/store/orders/order-reads.ts';
import { predictionView } from '../../support/orders/arbitrary-orders.ts';
import { all, only } from '../../support/orders/read-rig.ts';

const { accountId, orderId } = predictionView;
const key = `prediction:${orderId}`;
const stored = { revision: 1 } as StoredOrder;

function reads({
  status = 'new' as OrderStatus,
  pinned = false,
  held = true,
  sourceVersion = 9_007_199_254_740_993n,
} = {}) {
  const order = { ...predictionView, status, origin: 'external' } as unknown as Head['order'];
  const cache = new HeadCache(10);
  const slot = cache.set(key, { order, revision: 7, sourceVersion, join: {} });
  if (pinned) cache.pin(slot);
  const shown = heldOrderReads(
    { getOrder: async () => stored } as unknown as OrderReads,
    { openOrder: (asked) => cache.committedOpen(asked) },
    { follows: (id) => held && id === accountId },
  );
  return { order, get: (scope = all, id: string = orderId) => shown.getOrder(scope, 'prediction', id) };
}

describe('a read of one order', () => {
  it('is answered from memory, for an open order of a shard that this process holds', async () => {
    const { order, get } = reads();
    expect(await get()).toEqual({
      ...{ stream: 'prediction', orderId, accountId, revision: 7, sourceVersion: 9_007_199_254_740_993n },
      state: encodeOrder(order),
    });
  });

  it.each([
    ['a batch in flight changes it', { pinned: true }],
    ['it ended', { status: 'filled' }],
    ['another process holds its shard by now', { held: false }],
  ] as const)('is asked of the database where %s', async (_, state) => {
    expect(await reads(state).get()).toBe(stored);
  });

  it('is asked of the database where it is not in memory', async () => {
    expect(await reads().get(all, 'another')).toBe(stored);
  });

  it('shows nothing of an account that the caller may not see', async () => {
    expect(await reads().get(only('another'))).toBeUndefined();
    expect(await reads().get(only(accountId))).toMatchObject({ revision: 7 });
  });
});
