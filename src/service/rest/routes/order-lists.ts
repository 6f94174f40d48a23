import { z } from 'zod';
import { queryShape, searchedInstant } from '../../../contract/filter-shapes.ts';
import { orderFilters } from '../../../contract/list-filters.ts';
import { orderCounts, orderPage } from '../../../contract/rest-answers.ts';
import { isInstant } from '../../../domain/instant.ts';
import type { StoredOrder } from '../../../store/orders/order-reads.ts';
import { accountField, cursorField, idKinds, limitField, pageDefault, streamField } from '../request-fields.ts';
import { route } from '../route.ts';
import { readStore, sendJson } from '../send-answer.ts';

const orderId = z.string().regex(idKinds.orderId);
const positions = {
  orderId: z.union([z.tuple([accountField, streamField, orderId]), z.tuple([accountField])]),
  '-updatedAt': z.tuple([
    z
      .string()
      .regex(/^[^.]{19}\.\d{6}Z$/)
      .refine(isInstant),
    streamField,
    orderId,
  ]),
};

export const listOrders = route({
  method: 'GET',
  path: '/v1/orders',
  operationId: 'listOrders',
  summary: 'List orders',
  describe:
    'The newest state of each order: by account, stream and order id, or by the time of the newest change. A page of few matches may be short, or empty: it goes on while there is a `next`.',
  tag: 'orders',
  scopes: ['orders:read'],
  query: z.strictObject({
    ...queryShape(orderFilters),
    sort: z
      .enum(['orderId', '-updatedAt'])
      .exactOptional()
      .describe('`-updatedAt`: the newest change that was stored here comes first. `orderId` when left out'),
    limit: limitField,
    cursor: cursorField,
  }),
  answers: { 200: { describe: 'A page of orders', schema: orderPage } },
  problems: ['INVALID_CURSOR', 'ACCOUNT_NOT_FOUND'],
  handle: ({ reads, pages }, call) => {
    const { limit = pageDefault, cursor, sort = 'orderId', ...filter } = call.query;
    const read = (after: readonly string[] | undefined) =>
      readStore(reads.listOrders(call.principal.accounts, filter, after, limit, sort));
    const list = sort === 'orderId' ? 'orders' : `orders ${sort}`;
    return pages.send(call, { list, filter, cursor, position: positions[sort] }, read, storedOrderText);
  },
});

export const countOrders = route({
  method: 'GET',
  path: '/v1/orders/counts',
  operationId: 'countOrders',
  summary: 'Count orders by status',
  describe:
    'Open orders; with `since`, all orders whose newest change was stored since then, of closed ones at most 20,000.',
  tag: 'orders',
  scopes: ['orders:read'],
  query: z.strictObject({
    stream: streamField.exactOptional(),
    accountId: accountField.exactOptional(),
    since: searchedInstant.exactOptional().describe('Counts closed orders too, from this time on'),
  }),
  answers: { 200: { describe: 'Each status that an order has', schema: orderCounts } },
  problems: ['ACCOUNT_NOT_FOUND'],
  rows: 500,
  handle: async ({ reads }, { reply, principal, query }) => {
    return sendJson(reply, 200, await readStore(reads.countOrders(principal.accounts, query)));
  },
});

/**
 * An order as REST answers it. `state` is JSON text and is inserted unchanged: parsing and encoding
 * it again took most of a page's time.
 */
export function storedOrderText({ stream, orderId, accountId, revision, sourceVersion, state }: StoredOrder): string {
  const version = sourceVersion === undefined ? '' : `,"sourceVersion":"${sourceVersion}"`;
  return `{"stream":"${stream}","orderId":${quoted(orderId)},"accountId":${quoted(accountId)},"revision":${revision}${version},"order":${state}}`;
}

const plain = /^[\x20-\x21\x23-\x5b\x5d-\x7e]*$/;

/** An id's JSON. Most consist of letters and digits only, and then need no encoder. */
function quoted(id: string): string {
  return plain.test(id) ? `"${id}"` : JSON.stringify(id);
}
