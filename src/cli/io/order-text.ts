import type { z } from 'zod';
import type { orderAnswer } from '../../contract/rest-answers.ts';
import type { updateRecord } from '../../contract/update-record.ts';
import { accountText } from '../../domain/streams.ts';
import { ageOf, factsText, tableText } from './format-text.ts';

export type ListedOrder = z.infer<typeof orderAnswer>;
export type Update = z.infer<typeof updateRecord>;

/** A line for each order. The id is last and whole, ready to be copied. */
export function orderTable(
  orders: readonly ListedOrder[],
  { nowMs, paint, none }: { readonly nowMs: number; readonly paint: (word: string) => string; readonly none: string },
): string {
  return tableText(
    orders,
    {
      CHANGED: ({ order }) => ageOf(order.updatedAt, nowMs),
      ACCOUNT: accountText,
      INSTRUMENT: ({ order }) => instrumentText(order),
      SIDE: ({ order }) => order.side,
      STATUS: ({ order }) => order.status,
      FILLED: ({ order }) => `${order.cumQty} of ${sizeText(order)}`,
      PRICE: ({ order }) => order.working.price ?? order.orderType,
      ORDER: 'orderId',
    },
    none,
    paint,
  );
}

/** The platform lists an option of one leg under its underlying: there the leg names it. */
export function instrumentText({ instrument: { symbol, outcome, legs = [] } }: ListedOrder['order']): string {
  const name = legs.length === 1 ? (legs[0]?.symbol ?? symbol) : symbol;
  return outcome === undefined ? name : `${name}/${outcome}`;
}

/** The quantity that the venue works on, or the amount of money: `100`, `250 USD`. */
export function sizeText({ working, notional }: ListedOrder['order']): string {
  return working.quantity ?? (notional === undefined ? '?' : `${notional} USD`);
}

/** One order in its newest state: what is absent has no line. */
export function orderText(
  { stream, orderId, accountId, revision, sourceVersion, order }: ListedOrder,
  nowMs: number,
): string {
  const { working } = order;
  const price = (text: string | undefined) => (text === undefined ? '' : ` at ${text}`);
  const average = order.avgPrice === undefined ? '' : ` at ${order.avgPrice} on average`;
  const rejected = [order.rejectReason, order.rejectText].filter((text) => text !== undefined).join(': ');
  return factsText({
    order: `${stream}:${orderId}`,
    account: accountId,
    terms: `${order.side} ${order.quantity ?? sizeText(order)} ${instrumentText(order)} ${order.orderType}${price(order.price)}, ${order.timeInForce}`,
    working: `${sizeText(order)}${price(working.price)}`,
    status: `${order.status} (${order.statusRaw} by the platform)`,
    filled: `${order.cumQty}${average}${order.leavesQty === undefined ? '' : `, ${order.leavesQty} left`}`,
    'in doubt': order.certainty === 'certain' ? undefined : `${order.certainty} ${order.certaintyReason ?? ''}`,
    pending: order.pendingAction === 'none' ? undefined : order.pendingAction,
    contradiction: order.conflict,
    rejected: rejected || undefined,
    placed: order.origin === 'tidemark' ? `here, by command ${order.commandId ?? '-'}` : 'elsewhere',
    reference: order.callerRef ?? order.clientOrderRef ?? order.clOrdId,
    'at the venue': order.venueOrderId,
    replaces: order.replaces,
    'replaced by': order.replacedBy,
    revision: `${revision}${sourceVersion === undefined ? '' : `, version ${sourceVersion} of the platform`}`,
    changed: `${order.updatedAt} (${ageOf(order.updatedAt, nowMs)} ago)`,
  });
}

/** Every change, oldest first, with the old and the new value of each field. */
export function historyText(updates: readonly Update[]): string {
  if (updates.length === 0) return 'The log does not have its changes any more.\n';
  const rows = updates.map((update, at) => ({ update, changes: changeTexts(update, updates[at - 1]) }));
  return tableText(rows, {
    REVISION: ({ update }) => `r${update.revision}`,
    HAPPENED: ({ update }) => update.occurredAt,
    'SEEN BY': ({ update }) => update.cause,
    CHANGED: ({ changes }) => changes.join(', '),
  });
}

/**
 * What the update changed, field by field. `before`: the update before it, as far as it is known.
 */
export function changeTexts(update: Update, before: Update | undefined): string[] {
  return [...changesOf(update, before), ...fillOf(update)];
}

/** A first change has every field; the status says the most. */
function changesOf({ order, changed, revision }: Update, before: Update | undefined): string[] {
  const fields =
    revision === 1 ? ['status'] : changed.filter((field) => field !== 'updatedAt' && field !== 'statusRaw');
  return fields.map((field) => {
    const [from, to] = [fieldValue(before?.order, field), fieldValue(order, field)];
    return from === undefined ? `${field} ${to ?? 'gone'}` : `${field} ${from} → ${to ?? 'gone'}`;
  });
}

function fieldValue(order: Update['order'] | undefined, field: string): string | undefined {
  const value = (order as Readonly<Record<string, unknown>> | undefined)?.[field];
  return value === undefined || typeof value === 'string' ? value : JSON.stringify(value);
}

function fillOf({ fill }: Update): string[] {
  if (fill === undefined) return [];
  const price = fill.price === undefined ? '' : ` at ${fill.price}`;
  return [`filled ${fill.quantity}${price}${fill.inferred ? ' (inferred)' : ''}`];
}

/**
 * As many characters of an id as a terminal shows. Among ten thousand random ids, two end alike
 * once in a hundred times.
 */
const shown = 8;

/** The end of a long id: ids counting upwards, or beginning with a time, differ there. */
export function shortId(id: string): string {
  return id.length > shown + 4 ? id.slice(-shown) : id;
}

/** Whether `given` is the id, or its shown end. */
export function namesOrder(given: string, orderId: string): boolean {
  return given === orderId || given === shortId(orderId);
}
