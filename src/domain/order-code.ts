// Generated from the table in order.ts: change it, and run test/domain/order-code.test.ts with -u.

import type { Composed, Order, OrderView, OwnFields, RegisterField } from './order.ts';
import { sameInstant, sameInstrument, sameWorking } from './view-content.ts';

/**
 * The order that shows `view`: every field, always in this order. So equal orders have equal JSON,
 * which leaves out the undefined ones, and the source’s own field order does not matter.
 */
export function composeOrder(view: OrderView, own: OwnFields): Composed {
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
    notional: view.notional,
    price: view.price,
    stopPrice: view.stopPrice,
    avgPrice: view.avgPrice,
    expireTime: view.expireTime,
    clOrdId: view.clOrdId,
    clientOrderRef: view.clientOrderRef,
    venueOrderId: view.venueOrderId,
    replaces: view.replaces,
    replacedBy: view.replacedBy,
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

/** Shows these in place of those of the winning view. */
export function showRegisters(order: Composed, registers: Partial<Pick<Order, RegisterField>>): void {
  order.clOrdId = registers.clOrdId ?? order.clOrdId;
  order.clientOrderRef = registers.clientOrderRef ?? order.clientOrderRef;
  order.venueOrderId = registers.venueOrderId ?? order.venueOrderId;
  order.replaces = registers.replaces ?? order.replaces;
  order.replacedBy = registers.replacedBy ?? order.replacedBy;
  order.placedBy = registers.placedBy ?? order.placedBy;
  order.rejectReason = registers.rejectReason ?? order.rejectReason;
  order.rejectText = registers.rejectText ?? order.rejectText;
  order.createdAt = registers.createdAt ?? order.createdAt;
  order.sentAt = registers.sentAt ?? order.sentAt;
  order.firstAckAt = registers.firstAckAt ?? order.firstAckAt;
  order.closedAt = registers.closedAt ?? order.closedAt;
}

/** Nothing, if there is no order before. */
export type Before = Order | { readonly [K in keyof Order]?: undefined };

export function addChangedTerms(changed: (keyof Order)[], a: Before, b: Order): void {
  if (a.accountId !== b.accountId) changed.push('accountId');
  if (a.instrument === undefined || !sameInstrument(a.instrument, b.instrument)) changed.push('instrument');
  if (a.side !== b.side) changed.push('side');
  if (a.orderType !== b.orderType) changed.push('orderType');
  if (a.timeInForce !== b.timeInForce) changed.push('timeInForce');
  if (a.status !== b.status) changed.push('status');
  if (a.statusRaw !== b.statusRaw) changed.push('statusRaw');
  if (a.certainty !== b.certainty) changed.push('certainty');
  if (a.certaintyReason !== b.certaintyReason) changed.push('certaintyReason');
  if (a.pendingAction !== b.pendingAction) changed.push('pendingAction');
  if (a.quantity !== b.quantity) changed.push('quantity');
  if (a.notional !== b.notional) changed.push('notional');
  if (a.price !== b.price) changed.push('price');
  if (a.stopPrice !== b.stopPrice) changed.push('stopPrice');
  if (!sameWorking(a.working, b.working)) changed.push('working');
  if (a.cumQty !== b.cumQty) changed.push('cumQty');
  if (a.leavesQty !== b.leavesQty) changed.push('leavesQty');
  if (a.avgPrice !== b.avgPrice) changed.push('avgPrice');
  if (!sameInstant(a.expireTime, b.expireTime)) changed.push('expireTime');
}

export function addChangedHistory(changed: (keyof Order)[], a: Before, b: Order): void {
  if (a.origin !== b.origin) changed.push('origin');
  if (!sameInstant(a.updatedAt, b.updatedAt)) changed.push('updatedAt');
  if (a.clOrdId !== b.clOrdId) changed.push('clOrdId');
  if (a.clientOrderRef !== b.clientOrderRef) changed.push('clientOrderRef');
  if (a.venueOrderId !== b.venueOrderId) changed.push('venueOrderId');
  if (a.replaces !== b.replaces) changed.push('replaces');
  if (a.replacedBy !== b.replacedBy) changed.push('replacedBy');
  if (a.placedBy !== b.placedBy) changed.push('placedBy');
  if (a.commandId !== b.commandId) changed.push('commandId');
  if (a.callerRef !== b.callerRef) changed.push('callerRef');
  if (a.sourceEpoch !== b.sourceEpoch) changed.push('sourceEpoch');
  if (a.incarnation !== b.incarnation) changed.push('incarnation');
  if (a.rejectReason !== b.rejectReason) changed.push('rejectReason');
  if (a.rejectText !== b.rejectText) changed.push('rejectText');
  if (!sameInstant(a.createdAt, b.createdAt)) changed.push('createdAt');
  if (!sameInstant(a.sentAt, b.sentAt)) changed.push('sentAt');
  if (!sameInstant(a.firstAckAt, b.firstAckAt)) changed.push('firstAckAt');
  if (!sameInstant(a.closedAt, b.closedAt)) changed.push('closedAt');
  if (a.conflict !== b.conflict) changed.push('conflict');
}
