import type { z } from 'zod';
import type { orderAnswer } from '../../contract/rest-answers.ts';
import type { updateRecord } from '../../contract/update-record.ts';
import { ageOf, formatTable, printable } from './format-text.ts';

export type ListedOrder = z.infer<typeof orderAnswer>;
export type Update = z.infer<typeof updateRecord>;

/** A line for each order; the id is last and whole, so that it can be copied. */
export function orderTable(orders: readonly ListedOrder[], nowMs: number, paint: (word: string) => string): string {
  const rows = orders.map(({ accountId, orderId, order }) => [
    ageOf(order.updatedAt, nowMs),
    accountId,
    instrumentText(order),
    order.side,
    order.status,
    `${order.cumQty} of ${order.working.quantity}`,
    order.working.price ?? order.orderType,
    orderId,
  ]);
  const heading = ['CHANGED', 'ACCOUNT', 'INSTRUMENT', 'SIDE', 'STATUS', 'FILLED', 'PRICE', 'ORDER'];
  return safeTable([heading, ...rows], paint);
}

export function instrumentText({ instrument }: ListedOrder['order']): string {
  return instrument.outcome === undefined ? instrument.symbol : `${instrument.symbol}/${instrument.outcome}`;
}

/** One order in its newest state: what is absent has no line. */
export function orderText(
  { stream, orderId, accountId, revision, sourceVersion, order }: ListedOrder,
  nowMs: number,
): string {
  const { working } = order;
  const price = (text: string | undefined) => (text === undefined ? '' : ` at ${text}`);
  const facts: readonly (readonly [string, string | undefined])[] = [
    ['order', `${stream}:${orderId}`],
    ['account', accountId],
    [
      'terms',
      `${order.side} ${order.quantity} ${instrumentText(order)} ${order.orderType}${price(order.price)}, ${order.timeInForce}`,
    ],
    ['working', `${working.quantity}${price(working.price)}`],
    ['status', `${order.status} (${order.statusRaw} by the platform)`],
    [
      'filled',
      `${order.cumQty}${order.avgPrice === undefined ? '' : ` at ${order.avgPrice} on average`}, ${order.leavesQty} left`,
    ],
    ['in doubt', order.certainty === 'certain' ? undefined : `${order.certainty} ${order.certaintyReason ?? ''}`],
    ['pending', order.pendingAction === 'none' ? undefined : order.pendingAction],
    ['contradiction', order.conflict],
    ['rejected', [order.rejectReason, order.rejectText].filter((text) => text !== undefined).join(': ') || undefined],
    ['placed', order.origin === 'tidemark' ? `here, by command ${order.commandId ?? '-'}` : 'elsewhere'],
    ['reference', order.callerRef ?? order.clientOrderRef ?? order.clOrdId],
    ['at the venue', order.venueOrderId],
    [
      'revision',
      sourceVersion === undefined ? String(revision) : `${revision}, version ${sourceVersion} of the platform`,
    ],
    ['changed', `${order.updatedAt} (${ageOf(order.updatedAt, nowMs)} ago)`],
  ];
  return safeTable(facts.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}

/** Every change, oldest first, with the old and the new value of each field. */
export function historyText(updates: readonly Update[]): string {
  if (updates.length === 0) return 'The log does not have its changes any more.\n';
  const rows = updates.map((update, at) => [
    `r${update.revision}`,
    update.occurredAt,
    update.cause,
    changeTexts(update, updates[at - 1]).join(', '),
  ]);
  return safeTable([['REVISION', 'HAPPENED', 'SEEN BY', 'CHANGED'], ...rows]);
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

function safeTable(rows: readonly (readonly string[])[], paint?: (cell: string) => string): string {
  return formatTable(
    rows.map((row) => row.map(printable)),
    paint,
  );
}
