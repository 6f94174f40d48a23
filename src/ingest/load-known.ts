import type { Head } from '../domain/head.ts';
import { orderKey } from '../domain/order.ts';
import { referenceOf, referenceToBind } from './bind-order.ts';
import type { Entry } from './entry.ts';
import type { HeadCache } from './head-cache.ts';
import type { Binding, OrderStore } from './order-store.ts';

const noBindings: ReadonlyMap<string, Binding> = new Map();
const noHeads: ReadonlyMap<string, Head> = new Map();

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
    const cached = cache.get(key);
    if (cached === undefined) unknown.add(key);
    // Of most entries this looks at one prefix: bound orders and those of others cost no query.
    const reference = cached === undefined ? referenceOf(entry.view) : referenceToBind(cached, entry.view);
    if (reference !== undefined) references.add(reference);
  }
  if (unknown.size === 0 && references.size === 0) return noBindings;
  const [heads, bindings] = await Promise.all([
    unknown.size === 0 ? noHeads : store.readHeads([...unknown]),
    references.size === 0 ? noBindings : store.readBindings([...references]),
  ]);
  for (const [key, head] of heads) cache.set(key, head);
  return bindings;
}
