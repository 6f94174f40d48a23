import { orderKey } from '../../../src/domain/order.ts';
import type { Batch, Places } from '../../../src/store/orders/order-store.ts';

/**
 * The places of rows that a test made by hand, found by their keys. The service knows them while it
 * reduces (`prepare-batch.ts`), and a property compares the two.
 */
export function placesOf({ heads, updates }: Pick<Batch, 'heads' | 'updates'>): Places {
  const keys = heads.map(({ stream, orderId }) => orderKey(stream, orderId));
  const last = new Map(keys.map((key, i) => [key, -(i + 1)]));
  const before = updates.map(({ stream, orderId }, i) => {
    if (stream === 'watermarks') return null;
    const key = orderKey(stream, orderId);
    const place = last.get(key) ?? null;
    last.set(key, i + 1);
    return place;
  });
  const newest = heads.map(({ revision }, i) => {
    const place = last.get(keys[i] ?? '') ?? 0;
    return updates[place - 1]?.revision === revision ? place : null;
  });
  return { newest, before };
}
