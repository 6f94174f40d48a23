import type { Order, OrderView, Whole } from './order.ts';

/** Fields only we know. */
export type OwnFields = Pick<Order, 'origin' | 'commandId' | 'callerRef' | 'sourceEpoch' | 'incarnation' | 'conflict'>;

/**
 * The order that shows `view`: every field, in this order. So equal orders have equal JSON, which
 * leaves out the undefined ones, and the source's own field order does not matter. Written out
 * because a loop over field names took 1,000 ns instead of 30.
 */
export function composeOrder(view: OrderView, own: OwnFields): Whole<Order> {
  return {
    stream: view.stream,
    orderId: view.orderId,
    accountId: view.accountId,
    instrument: view.instrument,
    side: view.side,
    orderType: view.orderType,
    timeInForce: view.timeInForce,
    status: view.status,
    statusRaw: view.statusRaw,
    certainty: view.certainty,
    pendingAction: view.pendingAction,
    quantity: view.quantity,
    working: view.working,
    cumQty: view.cumQty,
    leavesQty: view.leavesQty,
    origin: own.origin,
    updatedAt: view.updatedAt,
    certaintyReason: view.certaintyReason,
    price: view.price,
    stopPrice: view.stopPrice,
    avgPrice: view.avgPrice,
    expireTime: view.expireTime,
    clOrdId: view.clOrdId,
    clientOrderRef: view.clientOrderRef,
    venueOrderId: view.venueOrderId,
    placedBy: view.placedBy,
    rejectReason: view.rejectReason,
    rejectText: view.rejectText,
    createdAt: view.createdAt,
    sentAt: view.sentAt,
    firstAckAt: view.firstAckAt,
    closedAt: view.closedAt,
    commandId: own.commandId,
    callerRef: own.callerRef,
    sourceEpoch: own.sourceEpoch,
    incarnation: own.incarnation,
    conflict: own.conflict,
    extra: view.extra,
  };
}

/** For an order seen for the first time: no command of ours is known to have placed it. */
export const firstSeen: OwnFields = { origin: 'external' };

/**
 * Our fields, which stay when the platform's part is replaced. Not `conflict`: it is judged again
 * with every change.
 */
export function ownFields(order: Order): Whole<OwnFields> {
  const { origin, commandId, callerRef, sourceEpoch, incarnation } = order;
  return { origin, commandId, callerRef, sourceEpoch, incarnation, conflict: undefined };
}
