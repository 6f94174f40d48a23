import { z } from 'zod';
import { platformIdText } from '../../contract/body-fields.ts';
import { toolShape } from '../../contract/filter-shapes.ts';
import { orderFilters, queryFrom } from '../../contract/list-filters.ts';
import { orderAnswer, orderPage, updatePage } from '../../contract/rest-answers.ts';
import { present } from '../../domain/present.ts';
import { changeTexts, instrumentText, type ListedOrder, orderText, sizeText } from '../io/order-text.ts';
import type { RestClient } from '../rest/rest-client.ts';
import { query, segment } from '../rest/rest-flags.ts';
import { cursor, excerpt, noneOf, pageAnswer, pageLimit, readPage, readRest, streamOfOrder, tool } from './tool.ts';

export const listOrders = tool({
  name: 'list_orders',
  title: 'List orders',
  description:
    'Lists orders as the service has them, the newest change first. Open orders only, unless includeClosed is true or a status is given. Money and quantities are decimal strings.',
  scopes: ['orders:read'],
  input: z.strictObject({
    ...toolShape(orderFilters),
    limit: pageLimit,
    cursor,
  }),
  run: async (session, { limit, cursor: from, ...given }) => {
    const path = { ...queryFrom(orderFilters, 'tool', given), sort: '-updatedAt', limit: String(limit), cursor: from };
    const page = await readOrderPage(session.client(), path);
    return pageAnswer('orders', page, { none: noneOf('order', page), line: orderLine, short: shortOrder });
  },
});

export function readOrderPage(client: RestClient, filter: Readonly<Record<string, string | undefined>>) {
  return readPage(client, { about: 'orders', path: '/v1/orders', shape: orderPage }, filter);
}

export const showOrder = tool({
  name: 'show_order',
  title: 'Show one order',
  description:
    'One order in its newest state, and the changes that led to it, oldest first. Where there are more changes, next is the afterRevision of the next call.',
  scopes: ['orders:read'],
  input: z.strictObject({
    stream: streamOfOrder,
    orderId: platformIdText,
    afterRevision: z.int().min(0).default(0).describe('Only changes after this revision'),
    limit: pageLimit,
  }),
  run: async (session, { stream: of, orderId: id, afterRevision, limit }) => {
    const client = session.client();
    const found = await readOrder(client, of, id);
    const after = afterRevision === 0 ? undefined : String(afterRevision);
    const path = `/v1/orders/${of}/${segment(id)}/updates${query({ limit: String(limit), after })}`;
    const { items, next } = await readRest(client, path, 'orders', updatePage);
    const history = items.map((update, at) => ({
      revision: update.revision,
      occurredAt: update.occurredAt,
      cause: update.cause,
      changes: changeTexts(update, items[at - 1]).map((change) => excerpt(change)),
    }));
    const { extra, ...order } = found.order;
    const lines = history.map(
      ({ revision, occurredAt, cause, changes }) => `r${revision}  ${occurredAt}  ${cause}  ${changes.join(', ')}`,
    );
    return {
      lines: [
        ...orderText(found, session.clock.nowMs()).split('\n'),
        ...lines,
        next && `There are more changes: ask again with afterRevision ${next}`,
      ],
      data: present({
        order: { ...present(order), ...(extra !== undefined && { unknownFields: Object.keys(extra).slice(0, 50) }) },
        revision: found.revision,
        sourceVersion: found.sourceVersion,
        history,
        next: next === undefined ? undefined : Number(next),
      }),
    };
  },
});

export function readOrder(client: RestClient, of: string, id: string): Promise<ListedOrder> {
  return readRest(client, `/v1/orders/${of}/${segment(id)}`, 'an order', orderAnswer);
}

/**
 * The fields a list needs. An order may have 256 KiB, mostly in fields that only the platform
 * knows.
 */
export function shortOrder({ stream, orderId, accountId, revision, order }: ListedOrder) {
  const { instrument, working, callerRef, rejectText } = order;
  const { side, orderType, timeInForce, status, quantity, notional, price, stopPrice, cumQty, leavesQty, avgPrice } =
    order;
  const { pendingAction, certainty, replaces, replacedBy, origin, commandId, updatedAt } = order;
  return present({
    stream,
    orderId,
    accountId,
    revision,
    symbol: instrument.symbol,
    outcome: instrument.outcome,
    legs: instrument.legs?.length,
    side,
    orderType,
    timeInForce,
    status,
    quantity,
    notional,
    price,
    stopPrice,
    workingQuantity: working.quantity,
    workingPrice: working.price,
    cumQty,
    leavesQty,
    avgPrice,
    pendingAction,
    certainty,
    replaces,
    replacedBy,
    origin,
    commandId,
    callerRef: callerRef && excerpt(callerRef),
    rejectText: rejectText && excerpt(rejectText),
    updatedAt,
  });
}

/** "account:o-1  SIM-1001  buy 5 of 10 AAPL limit at 187.5: partially_filled". */
export function orderLine({ stream, orderId, accountId, order }: ListedOrder): string {
  const price = order.working.price ?? order.price;
  const terms = `${order.side} ${sizeText(order)} ${instrumentText(order)} ${order.orderType}${price === undefined ? '' : ` at ${price}`}`;
  return `${stream}:${orderId}  ${accountId}  ${terms}, ${order.cumQty} filled: ${order.status}`;
}
