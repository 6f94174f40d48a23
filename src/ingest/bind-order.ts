import { attemptPrefix } from '../domain/command.ts';
import { firstSeen, type OwnFields } from '../domain/compose-order.ts';
import type { Head } from '../domain/head.ts';
import type { OrderView } from '../domain/order.ts';
import type { Binding, BindingRow } from './order-store.ts';

/** The reference under which one of our attempts may have placed the order; undefined for all others, so that foreign orders cost nothing. */
export function referenceOf(view: OrderView): string | undefined {
  // Prediction orders have a `clOrdId` too: that one is between the platform and its venue.
  const reference = view.stream === 'account' ? view.clOrdId : view.clientOrderRef;
  return reference?.startsWith(attemptPrefix) ? reference : undefined;
}

/**
 * The reference to be looked up for an observation: of an order that is new, or whose views so far lacked theirs. An order that is bound, or whose reference was looked
 * up before, costs nothing.
 */
export function referenceToBind(head: Head | undefined, view: OrderView): string | undefined {
  const reference = referenceOf(view);
  if (reference === undefined || head === undefined) return reference;
  return head.order.commandId === undefined && referenceOf(head.order) === undefined ? reference : undefined;
}

/**
 * What the revision of an order is given which first shows the id of an attempt: the row that ties the two, and what only we know of the order. An order whose
 * account, symbol or side are not those of the attempt keeps its row, for a person to look at, and stays `external`: the platform does not promise that references
 * are unique, and anybody may send one that looks like ours (docs/settling.md, "Settling unknown").
 *
 * Mostly that is its first revision; a later one where a list or an event left the reference out at first. The attempt is committed before its first byte leaves, so no
 * order of ours can be observed before its binding can be read; unless the database was restored to a moment in between: such an order stays `external`.
 */
export function bindOrder(
  view: OrderView,
  attemptId: string,
  binding: Binding | undefined,
): { readonly row: BindingRow; readonly own: OwnFields } | undefined {
  if (binding === undefined) return undefined;
  const { commandId, callerRef } = binding;
  const matches =
    binding.stream === view.stream &&
    binding.accountId === view.accountId &&
    binding.symbol === view.instrument.symbol &&
    binding.side === view.side;
  const row: BindingRow = { stream: view.stream, orderId: view.orderId, attemptId, commandId, matches };
  if (!matches) return { row, own: firstSeen };
  return { row, own: { origin: 'tidemark', commandId, ...(callerRef !== undefined && { callerRef }) } };
}
