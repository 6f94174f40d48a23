import { changedFields } from './changed-fields.ts';
import { composeOrder, type OwnFields } from './compose-order.ts';
import type { Head, Reduction } from './head.ts';
import type { Observation } from './observation.ts';
import type { Order, OrderView } from './order.ts';
import { reduce } from './reduce.ts';

/**
 * As `reduce`, for an observation which brings the reference that no view of the order has shown yet, so that only now it is known whose order it is: `own`.
 *
 * That is news, whatever the observation says else: one that repeats what we hold, or is older, makes a revision of the state as it is, with the reference and `own`.
 * One that contradicts what we hold binds nothing.
 */
export function reduceOwned(head: Head, observation: Observation, own: OwnFields): Reduction {
  const plain = reduce(head, observation);
  if (plain.outcome === 'conflict') return plain;
  const base = plain.head ?? head;
  const order = composeOrder(withReference(base.order, observation.view), { ...base.order, ...own });
  const changed = changedFields(head.order, order);
  if (plain.outcome === 'applied') return { ...plain, head: { ...base, order }, changed };
  if (changed.length === 0) return plain;
  return { outcome: 'applied', head: { ...base, order, revision: head.revision + 1 }, changed };
}

/** References of account orders are joined already: they belong to no single view. */
function withReference(order: Order, { clientOrderRef }: OrderView): Order {
  if (order.stream === 'account' || order.clientOrderRef !== undefined || clientOrderRef === undefined) return order;
  return { ...order, clientOrderRef };
}
