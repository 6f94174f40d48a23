import type { AccountPlaceTerms, Command, PredictionPlaceTerms } from './command.ts';
import { parseInstant } from './instant.ts';
import type { Order } from './order.ts';
import { absence, lastPossibleSendMs } from './presumed-absent.ts';

/** The platform's clock and ours may differ by this. */
const skewMs = 60_000;

/**
 * Whether an order could be that of an unknown place, had the platform lost our reference: nobody's that we know of, equal terms, made in the time in which a write
 * of the place may have arrived. Shown to people beside `unknown` as a hint. Never a verdict, and nothing may be bound by it: somebody else may have placed the same
 * (docs/settling.md, "Settling unknown", place).
 */
export function resembles(command: Command, order: Order): boolean {
  const { request, state } = command;
  if (request.kind !== 'place' || state !== 'unknown' || order.origin !== 'external') return false;
  if (order.stream !== request.stream || order.accountId !== request.accountId || !wasMadeMeanwhile(command, order)) return false;
  if (request.stream === 'account') return hasAccountTerms(order, request.terms);
  // Somebody else's reference: ours would have been echoed in its place.
  return order.clientOrderRef === undefined && hasPredictionTerms(order, request.terms);
}

function wasMadeMeanwhile(command: Command, { createdAt, updatedAt }: Order): boolean {
  const sentMs = command.attempts.flatMap(({ sendingAtMs }) => (sendingAtMs === undefined ? [] : [sendingAtMs]));
  const lastMs = lastPossibleSendMs(command);
  const madeNanos = parseInstant(createdAt ?? updatedAt);
  if (sentMs.length === 0 || lastMs === undefined || madeNanos === undefined) return false;
  const madeMs = Number(madeNanos / 1_000_000n);
  return madeMs >= Math.min(...sentMs) - skewMs && madeMs <= lastMs + absence.minAgeMs + skewMs;
}

function hasAccountTerms(order: Order, terms: AccountPlaceTerms): boolean {
  return (
    order.instrument.symbol === terms.symbol &&
    order.side === terms.side &&
    order.quantity === terms.qty &&
    order.orderType === terms.type.toLowerCase() &&
    order.timeInForce === terms.timeInForce.toLowerCase() &&
    order.price === terms.price &&
    order.stopPrice === terms.stopPrice &&
    (order.instrument.legs?.length ?? 0) === (terms.legs?.length ?? 0)
  );
}

function hasPredictionTerms(order: Order, terms: PredictionPlaceTerms): boolean {
  return (
    order.instrument.symbol === terms.symbol &&
    order.instrument.outcome === terms.outcome &&
    order.side === terms.side &&
    order.quantity === terms.quantity &&
    order.orderType === terms.orderType &&
    order.timeInForce === terms.timeInForce &&
    order.price === terms.price &&
    order.stopPrice === terms.stopPx
  );
}
