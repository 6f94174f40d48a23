import { orderKey } from '../domain/order.ts';
import { referenceOf } from './bind-order.ts';
import type { Entry } from './entry.ts';
import type { HeadCache } from './head-cache.ts';
import type { Binding, OrderStore } from './order-store.ts';

const noBindings: ReadonlyMap<string, Binding> = new Map();

/**
 * Brings the heads that the entries need and the cache lacks into it, and returns the attempts of ours that those orders refer to. Both are asked for at once:
 * few such orders will turn out to be new, but a second round trip behind the first would cost every batch with one of them more. Rejects when the database
 * can't be reached.
 */
export async function loadKnown(
  store: OrderStore,
  cache: HeadCache,
  entries: readonly Entry[],
): Promise<ReadonlyMap<string, Binding>> {
  const unknown = new Set<string>();
  const references = new Set<string>();
  for (const entry of entries) {
    if (entry.kind !== 'order') continue;
    const key = orderKey(entry.view.stream, entry.view.orderId);
    if (cache.has(key)) continue;
    unknown.add(key);
    const reference = referenceOf(entry.view);
    if (reference !== undefined) references.add(reference);
  }
  if (unknown.size === 0) return noBindings;
  const [heads, bindings] = await Promise.all([
    store.readHeads([...unknown]),
    references.size === 0 ? noBindings : store.readBindings([...references]),
  ]);
  for (const [key, head] of heads) cache.set(key, head);
  return bindings;
}
