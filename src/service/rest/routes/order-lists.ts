import { z } from 'zod';
import { queryShape, searchedInstant } from '../../../contract/filter-shapes.ts';
import { orderFilters } from '../../../contract/list-filters.ts';
import { orderAnswer, orderCounts, orderPage, updatePage } from '../../../contract/rest-answers.ts';
import { isInstant } from '../../../domain/instant.ts';
import type { Stream } from '../../../domain/order.ts';
import { jsonOrUndefined } from '../../../runtime/json-or-undefined.ts';
import type { StoredOrder } from '../../../store/orders/order-reads.ts';
import { accountField, cursorField, idKinds, limitField, pageDefault, streamField } from '../request-fields.ts';
import { alreadyHas, tagOf } from '../request-headers.ts';
import { type Route, route } from '../route.ts';
import { readStore, sendJson, sendJsonText, sendProblem } from '../send-answer.ts';

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

const ordersRead = { method: 'GET', tag: 'orders', scopes: ['orders:read'] } as const;

export const listOrders = route({
  ...ordersRead,
  path: '/v1/orders',
  operationId: 'listOrders',
  summary: 'List orders',
  describe:
    'The newest state of each order: by account, stream and order id, or by the time of the newest change. A page of few matches may be short, or empty: it goes on while there is a `next`.',
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
  ...ordersRead,
  path: '/v1/orders/counts',
  operationId: 'countOrders',
  summary: 'Count orders by status',
  describe:
    'Open orders; with `since`, all orders whose newest change was stored since then, of closed ones at most 20,000.',
  query: z.strictObject({
    stream: streamField.exactOptional(),
    accountId: accountField.exactOptional(),
    since: searchedInstant.exactOptional().describe('Counts closed orders too, from this time on'),
  }),
  answers: { 200: { describe: 'Each status that an order has', schema: orderCounts } },
  problems: ['ACCOUNT_NOT_FOUND'],
  rows: 500,
  handle: async ({ reads }, { reply, principal, query }) => {
    return sendJson(reply, await readStore(reads.countOrders(principal.accounts, query)));
  },
});

export const getOrder: Route = {
  ...ordersRead,
  path: '/v1/orders/{stream}/{orderId}',
  operationId: 'getOrder',
  summary: 'Read one order',
  headers: ['If-None-Match'],
  answers: {
    200: { describe: 'The order in its newest state', schema: orderAnswer, headers: ['ETag'] },
    304: { describe: 'It is still at the revision of If-None-Match', headers: ['ETag'] },
  },
  handle: async ({ reads }, { request, reply, principal, params }) => {
    const { stream = '', orderId = '' } = params;
    const order = await readStore(reads.getOrder(principal.accounts, stream as Stream, orderId));
    if (order === undefined) return sendProblem(reply, 'ORDER_NOT_FOUND');
    const tag = tagOf(order.revision);
    reply.header('etag', tag);
    if (alreadyHas(request.headers['if-none-match'], tag)) return reply.code(304).send();
    return sendJsonText(reply, storedOrderText(order));
  },
};

export const listUpdates = route({
  ...ordersRead,
  path: '/v1/orders/{stream}/{orderId}/updates',
  operationId: 'listOrderUpdates',
  summary: 'Read the history of one order',
  describe: 'Every accepted change by revision, as it stands on Kafka, as far back as the log is kept.',
  query: z.strictObject({
    after: z
      .string()
      .regex(/^(?:0|[1-9]\d{0,8})$/, 'must be a revision')
      .transform(Number)
      .exactOptional()
      .describe('Only revisions above this one')
      .meta({ type: 'integer', minimum: 0, pattern: undefined }),
    limit: limitField,
  }),
  answers: { 200: { describe: 'A page of updates', schema: updatePage } },
  handle: async ({ reads }, { reply, principal, params, query }) => {
    const { stream = '', orderId = '' } = params;
    const { after = 0, limit = pageDefault } = query;
    // One more than asked for shows whether there is a next page.
    const found = await readStore(reads.history(principal.accounts, stream as Stream, orderId, after, limit + 1));
    if (found === undefined) return sendProblem(reply, 'ORDER_NOT_FOUND');
    const shown = found.slice(0, limit);
    // One that is no JSON would spoil all the answer: its revision is missing there.
    const items = shown.filter(({ payload }) => jsonOrUndefined(payload) !== undefined);
    const times = JSON.stringify(items.map(({ recordedAt }) => recordedAt));
    const last = found.length > limit ? shown.at(-1) : undefined;
    const next = last === undefined ? '' : `,"next":"${last.revision}"`;
    const payloads = items.map(({ payload }) => payload).join(',');
    return sendJsonText(reply, `{"items":[${payloads}],"recordedAt":${times}${next}}`);
  },
});

/**
 * An order as REST answers it. `state` is JSON text and is inserted unchanged: parsing and encoding
 * it again took most of a page's time.
 */
function storedOrderText({ stream, orderId, accountId, revision, sourceVersion, state }: StoredOrder): string {
  const version = sourceVersion === undefined ? '' : `,"sourceVersion":"${sourceVersion}"`;
  return `{"stream":"${stream}","orderId":${quoted(orderId)},"accountId":${quoted(accountId)},"revision":${revision}${version},"order":${state}}`;
}

const plain = /^[\x20-\x21\x23-\x5b\x5d-\x7e]*$/;

/** An id's JSON. Most consist of letters and digits only, and then need no encoder. */
function quoted(id: string): string {
  return plain.test(id) ? `"${id}"` : JSON.stringify(id);
}
