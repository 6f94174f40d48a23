import type { FastifyInstance } from 'fastify';
import { ordersPath } from '../../platform/wire/order-pages.ts';
import type { SandboxParts } from '../sandbox-parts.ts';
import { sendNested } from './error-bodies.ts';
import { getOrder, listOrders } from './list-orders.ts';
import { readListQuery } from './list-query.ts';
import { requireAccount, requireScope } from './require-scope.ts';

/** Reading equity and option orders (contract, "Equity and option orders"). */
export function orderRoutes(app: FastifyInstance, parts: SandboxParts): void {
  app.get<{ Querystring: Record<string, unknown> }>(ordersPath, async (request, reply) => {
    const principal = await requireScope(parts.tokens, request, reply, 'order:information', 'nested');
    if (principal === undefined) return reply;
    const query = readListQuery(request.query, { reference: 'clOrdId', state: 'status' });
    if ('fault' in query) return sendNested(reply, 400, 'invalid_request', 'INVALID_PARAMETER', query.fault);
    const account = requireAccount(parts.directory, principal, query.accountId, reply);
    if (account === undefined) return reply;
    return reply.type('application/json').send(listOrders(parts, account, 'account', query, request.lagMs));
  });
  app.get<{ Params: { ordId: string }; Querystring: Record<string, unknown> }>(`${ordersPath}/:ordId`, async (request, reply) => {
    const principal = await requireScope(parts.tokens, request, reply, 'order:information', 'nested');
    if (principal === undefined) return reply;
    const accountId = request.query['accountId'];
    if (typeof accountId !== 'string' || accountId === '')
      return sendNested(reply, 400, 'invalid_request', 'INVALID_PARAMETER', 'accountId is missing');
    const account = requireAccount(parts.directory, principal, accountId, reply);
    if (account === undefined) return reply;
    const row = getOrder(parts, account, 'account', request.params.ordId, request.lagMs);
    if (row === undefined) return sendNested(reply, 404, 'not_found', 'ORDER_NOT_FOUND', 'No such order on this account');
    return reply.type('application/json').send(row);
  });
}
