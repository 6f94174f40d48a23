import type { EntryDeps } from '../entry/write.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { type ExchangeOrder, isClosed } from '../exchange/exchange-order.ts';
import { cancelOrder } from '../exchange/venue-steps.ts';

/** It waits for the order above it, and is not at the venue yet. */
export function isHeld({ terms, state }: ExchangeOrder): boolean {
  return terms.group?.parent !== undefined && state === 'pending_new';
}

/** The orders below this one, as long as the exchange has them. */
export function legsOf(exchange: Exchange, order: ExchangeOrder): ExchangeOrder[] {
  return others(exchange, order).filter(({ terms }) => terms.group?.parent === order.terms.clOrdId);
}

function others(exchange: Exchange, order: ExchangeOrder): ExchangeOrder[] {
  const members = order.terms.group?.members ?? [];
  const named = members.flatMap((clOrdId) => exchange.byClientReference(clOrdId));
  return named.filter((it) => it !== order && it.terms.group?.members === members);
}

/**
 * Called after each change in the exchange: what one member's change means for the others. A filled
 * entry sends its exits to the venue. Exits share one quantity: a fill lowers the other one's.
 * Every other end ends all.
 */
export function followGroup({ exchange, venue }: EntryDeps, order: ExchangeOrder, step: string): void {
  const { group } = order.terms;
  if (group === undefined) return;
  const open = others(exchange, order).filter(({ state }) => !isClosed(state));
  const isEntry = group.parent === undefined && group.kind !== 'oco';
  if (isEntry && order.state === 'filled') for (const exit of open) venue.submit(exit);
  else if (isClosed(order.state)) for (const other of open) endMember(exchange, other);
  else if (!isEntry && step === 'fill') for (const other of open) lower(exchange, other, order.lastQuantity);
}

/** An earlier end may have ended it already. */
function endMember(exchange: Exchange, order: ExchangeOrder): void {
  if (!isClosed(order.state)) cancelOrder(exchange, order);
}

function lower(exchange: Exchange, order: ExchangeOrder, by: bigint): void {
  const left = order.workingQuantity - by;
  if (left <= order.cumQty) endMember(exchange, order);
  else
    exchange.change(order, 'restated', (it) => {
      it.workingQuantity = left;
    });
}
