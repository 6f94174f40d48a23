import type { Command } from '../domain/command.ts';
import type { Order } from '../domain/order.ts';
import { resembles } from '../domain/resembles.ts';
import type { AccountScope, OrderReads } from './order-reads.ts';

/** Orders looked at, of the open and of the closed ones each. A hint that is missed costs nothing: an order that lost our reference is rare, and a person looks further. */
const lookedAt = 500;
const mostHints = 5;

/**
 * Ids of orders with the terms of an unknown place that nobody's reference explains, for the person who has to settle it. The platform may have lost our reference, or
 * somebody may have placed the same: nothing is concluded from it (docs/settling.md, "Settling unknown").
 */
export async function findHints(
  reads: Pick<OrderReads, 'listOrders'>,
  scope: AccountScope,
  command: Command,
): Promise<readonly string[]> {
  const { request, state } = command;
  if (request.kind !== 'place' || state !== 'unknown') return [];
  const filter = { stream: request.stream, accountId: request.accountId, symbol: request.terms.symbol };
  const pages = await Promise.all([true, false].map((open) => reads.listOrders(scope, { ...filter, open }, undefined, lookedAt)));
  return pages
    .flatMap(({ items }) => items)
    .filter((stored) => resembles(command, JSON.parse(stored.state) as Order))
    .slice(0, mostHints)
    .map(({ orderId }) => orderId);
}
