import { parseInstant } from './instant.ts';
import type { OrderView } from './order.ts';

/**
 * What an account order's winning view contributes: the fields that its stream events and its list rows both have. Fields that the order shows from
 * elsewhere (identity, references, history) are joined on their own and are not content.
 */
export function accountContent(view: OrderView): string {
  return JSON.stringify([...terms(view), instant(view.expireTime)]);
}

/** Everything a prediction order's view says. */
export function predictionContent(view: OrderView): string {
  const references = [view.clOrdId, view.clientOrderRef, view.venueOrderId, view.placedBy, view.rejectReason, view.rejectText];
  const instants = [view.createdAt, view.sentAt, view.firstAckAt, view.closedAt, view.expireTime].map(instant);
  return JSON.stringify([...terms(view), ...references, ...instants]);
}

/**
 * -1, 0 or 1 by code units. The total order that settles a tie between views: which of them wins means nothing, that it is always the same one does.
 * The text itself and not a hash of it, for it is made on a tie only, and a hash could collide.
 */
export function compareText(a: string, b: string): -1 | 0 | 1 {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

function terms(view: OrderView): unknown[] {
  const { working } = view;
  return [
    view.status,
    view.statusRaw,
    view.certainty,
    view.certaintyReason,
    view.pendingAction,
    view.orderType,
    view.timeInForce,
    view.quantity,
    view.price,
    view.stopPrice,
    working.quantity,
    working.price,
    working.orderType,
    view.cumQty,
    view.leavesQty,
    view.avgPrice,
  ];
}

/** By value: two sources may write one instant in two ways. */
function instant(text: string | undefined): string | undefined {
  return text === undefined ? undefined : parseInstant(text)?.toString();
}
