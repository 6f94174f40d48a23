import type { Stream } from '../../domain/order.ts';
import { orderAnswer } from '../../schema/rest-answers.ts';
import { alreadyHas, tagOf } from '../entity-tags.ts';
import { orderText } from '../order-text.ts';
import { readStore } from '../read-store.ts';
import type { Route } from '../route.ts';
import { sendJsonText, sendMissing } from '../send-answer.ts';

export const getOrder: Route = {
  method: 'GET',
  path: '/v1/orders/{stream}/{orderId}',
  operationId: 'getOrder',
  summary: 'Read one order',
  tag: 'orders',
  scopes: ['orders:read'],
  params: { stream: 'stream', orderId: 'orderId' },
  headers: ['If-None-Match'],
  answers: {
    200: { describe: 'The order in its newest state', schema: orderAnswer, headers: ['ETag'] },
    304: { describe: 'It is still at the revision of If-None-Match', headers: ['ETag'] },
  },
  problems: { 404: ['ORDER_NOT_FOUND'] },
  handle: async ({ reads }, { request, reply, principal, params }) => {
    const { stream = '', orderId = '' } = params;
    const order = await readStore(reads.getOrder(principal.accounts, stream as Stream, orderId));
    if (order === undefined) return sendMissing(reply, 'ORDER_NOT_FOUND');
    const tag = tagOf(order.revision);
    reply.header('etag', tag);
    if (alreadyHas(request.headers['if-none-match'], tag)) return reply.code(304).send();
    return sendJsonText(reply, 200, orderText(order));
  },
};
