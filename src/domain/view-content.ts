import { parseInstant } from './instant.ts';
import type { Instrument, Leg, OrderView } from './order.ts';

/** The fields that identify the order: set once, another value is a conflict. */
type Identified = Pick<OrderView, 'stream' | 'orderId' | 'accountId' | 'instrument' | 'side'>;

/** The identity field on which two views of one order contradict each other, over the fields that both have. Undefined: the same order. */
export function contradictedIdentity(a: Identified, b: Identified): string | undefined {
  if (a.stream !== b.stream || a.orderId !== b.orderId) return 'orderId';
  if (a.accountId !== b.accountId) return 'accountId';
  if (a.side !== b.side) return 'side';
  return a.instrument === b.instrument ? undefined : contradictedInstrument(a.instrument, b.instrument);
}

/** Legs, outcome or a leg's position effect that one side lacks come from the other: a source that leaves them out does not deny them. */
export function joinInstruments(a: Instrument, b: Instrument): Instrument {
  const outcome = a.outcome ?? b.outcome;
  const legs = joinLegs(a.legs, b.legs);
  if (outcome === a.outcome && legs === a.legs) return a;
  return {
    kind: a.kind,
    symbol: a.symbol,
    ...(outcome === undefined ? {} : { outcome }),
    ...(legs === undefined ? {} : { legs }),
  };
}

/** Equal also in the fields that are absent. */
export function sameInstrument(a: Instrument, b: Instrument): boolean {
  return a === b || (contradictedInstrument(a, b) === undefined && joinInstruments(a, b) === a && joinInstruments(b, a) === b);
}

function joinLegs(a: readonly Leg[] | undefined, b: readonly Leg[] | undefined): readonly Leg[] | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  const addsEffect = a.some((leg, index) => leg.positionEffect === undefined && b[index]?.positionEffect !== undefined);
  return addsEffect ? a.map((leg, index) => ({ ...leg, ...(leg.positionEffect === undefined ? b[index] : {}) })) : a;
}

function contradictedInstrument(a: Instrument, b: Instrument): string | undefined {
  if (a.kind !== b.kind) return 'instrument.kind';
  if (a.symbol !== b.symbol) return 'instrument.symbol';
  if (a.outcome !== undefined && b.outcome !== undefined && a.outcome !== b.outcome) return 'instrument.outcome';
  if (a.legs !== undefined && b.legs !== undefined && !sameLegs(a.legs, b.legs)) return 'instrument.legs';
  return undefined;
}

/** In order: an order's own side is that of its first leg. */
function sameLegs(a: readonly Leg[], b: readonly Leg[]): boolean {
  return a.length === b.length && a.every((leg, index) => sameLeg(leg, b[index]));
}

function sameLeg(a: Leg, b: Leg | undefined): boolean {
  return (
    b !== undefined &&
    a.symbol === b.symbol &&
    a.side === b.side &&
    a.ratioQty === b.ratioQty &&
    (a.positionEffect === b.positionEffect || a.positionEffect === undefined || b.positionEffect === undefined)
  );
}

/**
 * The content of an account order's winning view: the fields that its stream events and its list rows both have. Fields that the order takes from
 * elsewhere (identity, references, history) are joined on their own and are not content.
 */
export function accountContent(view: OrderView): string {
  return JSON.stringify([...terms(view), instant(view.expireTime)]);
}

/** All content of a prediction order's view. */
export function predictionContent(view: OrderView): string {
  const references = [view.clOrdId, view.clientOrderRef, view.venueOrderId, view.placedBy, view.rejectReason, view.rejectText];
  const instants = [view.createdAt, view.sentAt, view.firstAckAt, view.closedAt, view.expireTime].map(instant);
  return JSON.stringify([...terms(view), ...references, ...instants]);
}

/**
 * -1, 0 or 1 by code units. The total order that settles a tie between views: it does not matter which of them wins, only that it is always the same one.
 * Compares the text itself and not a hash of it: it is made on a tie only, and a hash could collide.
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
